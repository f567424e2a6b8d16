/** The manifests for a trial in a cluster: in a namespace of their own, on a small node, with a short load. */
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

export interface Trial {
  namespace: string;
  /** The prefix of our images, like `registry.example/`; empty: the nodes have them. */
  registry: string;
  /** The settings of the load. */
  load: Record<string, string>;
  /** How many generators. */
  generators: number;
}

/** The images of ours. */
const IMAGES = ['arrival-pipeline', 'arrival-k6', 'arrival-k6-operator', 'arrival'];

/** What a pod of a trial requests: a laptop's cluster has room for all. */
const REQUESTS = { cpu: '20m', memory: '64Mi' };

/**
 * Copies the manifests to `dir`, and adds the kustomization of a trial. Returns its folder; the credentials belong into
 * `pipeline/generated` beside it.
 */
export async function writeTrial(
  dir: string,
  { namespace, registry, load, generators }: Trial,
): Promise<string> {
  const own = (path: string) => !path.includes('generated');
  await cp(join(import.meta.dirname, 'kubernetes'), dir, { recursive: true, filter: own });
  const set = (path: string, value: unknown) => ({ op: 'replace', path, value });
  const patch = (kind: string, name: string, ...operations: object[]) => ({
    target: { kind, name },
    patch: stringify(operations),
  });
  const small = (kind: string, name: string, container = 0, pod = '/spec/template/spec') =>
    patch(kind, name, set(`${pod}/containers/${container}/resources/requests`, REQUESTS));
  const job = '/spec/jobTemplate/spec';
  const folder = join(dir, 'trial');
  await mkdir(folder, { recursive: true });
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace,
    resources: ['../durable', '../runs', '../load', '../reports'],
    images: IMAGES.map((name) => ({ name, newName: `${registry}${name}` })),
    configMapGenerator: [
      {
        name: 'load',
        behavior: 'merge',
        literals: Object.entries(load).map(([name, value]) => `${name}=${value}`),
        options: { disableNameSuffixHash: true },
      },
    ],
    patches: [
      small('Deployment', 'ingest'),
      small('Deployment', 'relay'),
      small('Deployment', 'mosquitto'),
      small('Deployment', 'reports'),
      small('StatefulSet', 'redis'),
      small('CronJob', 'load', 0, `${job}/template/spec`),
      patch(
        'StatefulSet',
        'redis',
        set('/spec/volumeClaimTemplates/0/spec/resources/requests/storage', '1Gi'),
      ),
      patch('PersistentVolumeClaim', 'mosquitto', set('/spec/resources/requests/storage', '1Gi')),
      // On one node any class does.
      patch(
        'PersistentVolumeClaim',
        'runs',
        set('/spec/accessModes', ['ReadWriteOnce']),
        set('/spec/resources/requests/storage', '1Gi'),
      ),
      patch(
        'CronJob',
        'load',
        set(`${job}/completions`, generators),
        set(`${job}/parallelism`, generators),
        set(`${job}/template/spec/containers/0/env/1/value`, String(generators)),
      ),
    ],
  };
  await writeFile(join(folder, 'kustomization.yaml'), stringify(kustomization));
  return folder;
}
