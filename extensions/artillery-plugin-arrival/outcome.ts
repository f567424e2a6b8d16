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

/** The class of an error of Artillery's HTTP client, and whether there was a connection, if known. */
export function failureOf(error: NodeJS.ErrnoException): {
  error: string;
  connected?: false;
  message: string;
} {
  const { code = '', message } = error;
  return {
    error: classOf(code, message),
    ...(causesOf(error).some(({ syscall }) => syscall === 'connect' || syscall === 'getaddrinfo') && {
      connected: false,
    }),
    message: message || code || 'failed',
  };
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
