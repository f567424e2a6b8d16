/** The answer to a refused request. The message is for the client. */
export class HttpError extends Error {
  /** The HTTP status. */
  readonly statusCode: number;
  /** Where in the body the mistake is, like `target` or `3.target`; empty for the body itself. */
  readonly field: string | undefined;
  /** Seconds until a retry; undefined: a retry is of no use. */
  readonly retryAfterS: number | undefined;

  constructor(statusCode: number, message: string, more: { field?: string; retryAfterS?: number } = {}) {
    // A stack trace would cost more than the rest of a refused request.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.statusCode = statusCode;
    this.field = more.field;
    this.retryAfterS = more.retryAfterS;
  }
}

/** 400: the body is not a message. */
export function malformed(field: string, problem: string): HttpError {
  return new HttpError(400, `${field || 'body'}: ${problem}`, { field });
}

/** 401. */
export function unauthorized(): HttpError {
  return new HttpError(401, 'the token is missing or wrong');
}

/** 413. */
export function tooLarge(message: string): HttpError {
  return new HttpError(413, message);
}

/** 413, for a body beyond `BODY_LIMIT`. */
export function bodyTooLarge(limit: number): HttpError {
  return tooLarge(`the body exceeds the limit of ${limit} bytes`);
}

/** 415. */
export function notJson(): HttpError {
  return new HttpError(415, 'the content type is not application/json');
}

/** 415, for a body that is compressed or in another character set: it has to be UTF-8 as it is. */
export function notPlain(what: string): HttpError {
  return new HttpError(415, `${what}; allowed: UTF-8, without a content coding`);
}

/** 503: not now. */
export function unavailable(reason: string, retryAfterS: number): HttpError {
  return new HttpError(503, reason, { retryAfterS });
}
