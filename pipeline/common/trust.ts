import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import tls from 'node:tls';
import { ConfigError } from './config.ts';

/**
 * Makes this process trust the authorities in a PEM file beside the built-in ones, for every connection it opens
 * from now on. Returns the file's text, empty without a file. Throws a {@link ConfigError} when it holds no certificate.
 */
export function trust(file: string | undefined): string {
  if (file === undefined) return '';
  const wrong = (why: string) =>
    new ConfigError(`TLS_CA is ${JSON.stringify(file)}, ${why}; allowed: a file of certificates in PEM`);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw wrong(`which cannot be read: ${(error as Error).message}`);
  }
  try {
    new X509Certificate(text);
  } catch {
    throw wrong('which does not hold one');
  }
  trustText(text);
  return text;
}

/** The same with the certificates themselves. */
export function trustText(text: string): void {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), text]);
}

/** What OpenSSL says of a certificate that no authority vouches for whom this process trusts. */
const NOBODY_VOUCHES = /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate/;

/** An error's message with what a user can do about it, in the place of what Node thinks that he can. */
export function withAdvice(message: string): string {
  if (!NOBODY_VOUCHES.test(message)) return message;
  return `${message.replace(/; if the root CA is installed locally.*/, '')} (TLS_CA: the file of its authority)`;
}
