// The baseline of the sender: the same request with k6/http.
import http from 'k6/http';

export const options = { vus: Number(__ENV.VUS), duration: '1h' };

const params = {
  headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${__ENV.TOKEN}` },
};

export default function () {
  http.post(__ENV.URL, __ENV.BODY, params);
}
