/** The outcome of a request, in the recorder's terms. */
const CLASSES: Record<string, string> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
  ERR_SOCKET_TIMEOUT: 'timeout',
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
  const { syscall } = (error.cause ?? error) as NodeJS.ErrnoException;
  return {
    error: CLASSES[code] ?? (TLS.test(code) ? 'TLS' : 'failed'),
    ...((syscall === 'connect' || syscall === 'getaddrinfo') && { connected: false }),
    message,
  };
}
