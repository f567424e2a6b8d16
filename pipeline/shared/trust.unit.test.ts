import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { remove, temporaryDirectory } from '../test/services.ts';
import { trust } from './trust.ts';

// Regression: with TLS=true and a TLS_CA like this no process could read the authorities of both.
test('a file of authorities may lack its last line feed', async (t) => {
  const dir = await temporaryDirectory();
  t.after(() => remove(dir));
  const [one = '', other = ''] = tls.rootCertificates;
  const file = join(dir, 'ca.pem');
  await writeFile(file, one.trimEnd());
  const both = trust(file) + other;
  assert.equal(new X509Certificate(both).fingerprint, new X509Certificate(one).fingerprint);
  tls.setDefaultCACertificates([both]);
  assert.equal(tls.getCACertificates('default').length, 2);
});
