import { X509Certificate } from 'node:crypto';
import tls from 'node:tls';
import { ConfigError, readFileOf } from './read-config.ts';

/**
 * Makes this process trust the authorities in a PEM file beside the built-in ones, for every connection it opens
 * from now on. Returns the file's text, which ends a line, so that another can follow; empty without a file. Throws a
 * {@link ConfigError} when it holds no certificate.
 */
export function trust(file: string | undefined): string {
  if (file === undefined) return '';
  const allowed = 'a file of certificates in PEM';
  const text = readFileOf('TLS_CA', file, allowed).toString();
  try {
    new X509Certificate(text);
  } catch {
    throw new ConfigError(`TLS_CA is ${JSON.stringify(file)}, which does not hold one; allowed: ${allowed}`);
  }
  trustText(text);
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** The same with the certificates themselves. */
export function trustText(text: string): void {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), text]);
}

/** OpenSSL's messages for a certificate of an unknown authority. */
const UNKNOWN_AUTHORITY =
  /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate/;

/** An error's message with our advice instead of Node's. */
export function withAdvice(message: string): string {
  if (!UNKNOWN_AUTHORITY.test(message)) return message;
  return `${message.replace(/; if the root CA is installed locally.*/, '')} (TLS_CA: the file of its authority)`;
}
