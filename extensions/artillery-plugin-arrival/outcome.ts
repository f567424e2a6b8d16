/** The outcome of a request, in the recorder's terms. */
const CLASSES: Record<string, string> = {
  ECONNREFUSED: 'refused',
  ECONNABORTED: 'reset',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
  ERR_SOCKET_TIMEOUT: 'timeout',
  ERR_SOCKET_CONNECTION_TIMEOUT: 'timeout',
  ESOCKETTIMEDOUT: 'timeout',
  ENOTFOUND: 'name not resolved',
  EAI_AGAIN: 'name not resolved',
};
/** Codes of Node's TLS and OpenSSL. */
const TLS = /^(ERR_(TLS|SSL)|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/;

type Failure = { error: string; connected?: false; message: string };

/** The class of an error of Artillery's HTTP client, and whether there was a connection, if known. */
export function failureOf(error: NodeJS.ErrnoException): Failure {
  const { code = '', message } = error;
  return {
    error: classOf(code, message),
    ...(causesOf(error).some(({ syscall }) => syscall === 'connect' || syscall === 'getaddrinfo') && {
      connected: false,
    }),
    message: message || code || 'failed',
  };
}

/** The outcome of an answer. One server's odd status must not end the recording, which takes those of HTTP. */
export function answerOf(status = 0): Failure | { status: number } {
  if (status >= 100 && status <= 599) return { status };
  return { error: 'failed', message: `the status ${status}; HTTP has 100 to 599` };
}

function classOf(code: string, message: string): string {
  // Node's code for a connection that the server closes without an answer is that of a reset.
  if (code === 'ECONNRESET' && /socket hang up|aborted/.test(message)) return 'closed';
  return CLASSES[code] ?? (TLS.test(code) ? 'TLS' : 'failed');
}

/** An error and what caused it: with several addresses there is one of each. */
function causesOf(error: Error, depth = 0): NodeJS.ErrnoException[] {
  if (depth > 5) return [];
  const inner = [error.cause, ...(error instanceof AggregateError ? error.errors : [])];
  return [error, ...inner.flatMap((one) => (one instanceof Error ? causesOf(one, depth + 1) : []))];
}
