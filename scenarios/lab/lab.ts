import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { installCommand, isInstalled } from '../../pipeline/setup/packages.mjs';
import { DAEMON_PATH } from '../../pipeline/stack/launch.ts';
import { Supervised } from '../../pipeline/stack/process.ts';
import { type Means, type Plan, qdisc, ruleset, type Unavailable } from './networks.ts';

/** Addresses for documentation (RFC 5737), which no network has; only the namespaces use them. */
export const PIPELINE = '192.0.2.1';
const PIPELINE_ROUTER = '192.0.2.254';
export const GENERATOR = '198.51.100.1';
const GENERATOR_ROUTER = '198.51.100.254';
/** The pipeline's end of a direct link for clock and telemetry, outside the network under test. */
export const PIPELINE_DIRECT = '203.0.113.1';
const GENERATOR_DIRECT = '203.0.113.2';

const ROLES = ['pipeline', 'router', 'generator'] as const;
type Role = (typeof ROLES)[number];

/**
 * Three network namespaces: the pipeline's, the generator's, and a router between them that shapes and filters. A process
 * holds each namespace and ends with us, however we end, so nothing stays behind.
 */
export class Lab {
  readonly means: Means;
  /** Pid of each namespace's holder. */
  readonly #pids: Record<Role, number>;
  readonly #stop: () => Promise<void>;

  private constructor(means: Means, pids: Record<Role, number>, stop: () => Promise<void>) {
    this.means = means;
    this.#pids = pids;
    this.#stop = stop;
  }

  /** Why this machine has no lab, in a line; null: it can have one. */
  static refusal(has = isInstalled): Unavailable {
    if (process.platform !== 'linux') return `network namespaces are Linux', and this is ${process.platform}`;
    if (process.getuid?.() !== 0) return 'network namespaces want root';
    const missing = ['ip', 'unshare', 'nsenter'].filter((program) => !has(program));
    if (missing.length > 0) return `${missing.join(', ')} not installed: ${installCommand(missing)}`;
    return null;
  }

  /** Makes the namespaces and joins them. Rejects in one line when the kernel refuses. */
  static async open(has = isInstalled): Promise<Lab> {
    const logs = await mkdtemp(join(tmpdir(), 'arrival-matrix-'));
    const holders: Supervised[] = [];
    const stop = async () => {
      await Promise.all(holders.map((holder) => holder.stop()));
      await rm(logs, { recursive: true, force: true });
    };
    try {
      const pids = {} as Record<Role, number>;
      for (const role of ROLES) {
        const holder = await holdNamespace(role, logs);
        holders.push(holder);
        pids[role] = holder.pid;
      }
      const lab = new Lab({ namespaces: null, netem: null, tbf: null, nftables: null }, pids, stop);
      await lab.#join();
      await lab.#findMeans(has);
      return lab;
    } catch (error) {
      await stop();
      throw error;
    }
  }

  /** The lab of the process that started us in the pipeline's namespace, and that ends it. */
  static parse(text: string): Lab {
    const { means, pids } = JSON.parse(text);
    return new Lab(means, pids, async () => {});
  }

  /** Returns a text that {@link Lab.parse} reads. */
  serialize(): string {
    return JSON.stringify({ means: this.means, pids: this.#pids });
  }

  /** The command prefix that runs a command in a namespace. */
  within(role: Role): string[] {
    return ['nsenter', `--net=/proc/${this.#pids[role]}/ns/net`, '--'];
  }

  /** @param ports the ports of the pipeline that the generator may connect to */
  async shape(plan: Plan, ports: readonly number[]): Promise<void> {
    await this.clear();
    const shaping = qdisc(plan);
    if (shaping !== undefined) {
      for (const side of ['pipeline', 'generator'])
        await this.#sh('router', `tc qdisc replace dev ${side} root ${shaping}`);
    }
    if (plan.firewall === 'nftables') await this.#sh('router', 'nft -f -', ruleset(ports));
  }

  /** Removes shaping and filter. */
  async clear(): Promise<void> {
    for (const side of ['pipeline', 'generator'])
      await this.#sh('router', `tc qdisc del dev ${side} root 2>/dev/null || true`);
    if (this.means.nftables === null) await this.#sh('router', 'nft flush ruleset');
  }

  close(): Promise<void> {
    return this.#stop();
  }

  async #join(): Promise<void> {
    const { pipeline, generator } = this.#pids;
    await this.#sh(
      'router',
      `ip link add pipeline type veth peer name eth0 netns ${pipeline}
      ip link add generator type veth peer name eth0 netns ${generator}
      ip addr add ${PIPELINE_ROUTER}/24 dev pipeline
      ip addr add ${GENERATOR_ROUTER}/24 dev generator
      ip link set pipeline up
      ip link set generator up
      echo 1 > /proc/sys/net/ipv4/ip_forward`,
    );
    // No segmentation offload: up to 64 KB would be delayed and lost as one packet.
    const ends = async (role: Role, own: string, router: string, direct: string) =>
      this.#sh(
        role,
        `ip link set eth0 gso_max_segs 1
        ip addr add ${own}/24 dev eth0
        ip link set eth0 up
        ip route add default via ${router}
        ip addr add ${direct}/24 dev direct
        ip link set direct up`,
      );
    await this.#sh('pipeline', `ip link add direct type veth peer name direct netns ${generator}`);
    await ends('pipeline', PIPELINE, PIPELINE_ROUTER, PIPELINE_DIRECT);
    await ends('generator', GENERATOR, GENERATOR_ROUTER, GENERATOR_DIRECT);
  }

  /** Tries the kernel's features. Reports how to install a missing tool. */
  async #findMeans(has: typeof isInstalled): Promise<void> {
    const attempt = async (tool: string, command: string, input?: string): Promise<Unavailable> => {
      if (!has(tool)) return `${tool} is not installed: ${installCommand([tool])}`;
      return this.#sh('router', command, input).then(
        () => null,
        (error: Error) => error.message,
      );
    };
    const on = 'tc qdisc replace dev generator root';
    this.means.netem = await attempt('tc', `${on} netem delay 1ms loss 0.1% rate 100mbit`);
    this.means.tbf = await attempt('tc', `${on} tbf rate 100mbit burst 64kb latency 100ms`);
    this.means.nftables = await attempt('nft', 'nft -f -', ruleset([1]));
    await this.clear();
  }

  /** Runs shell commands in a namespace. Rejects in one line with the error of the first that fails. */
  async #sh(role: Role, script: string, input = ''): Promise<void> {
    const [command = '', ...args] = [...this.within(role), 'sh', '-e', '-c', script];
    const options = { env: { PATH: DAEMON_PATH }, reject: false, input } as const;
    const { failed, stderr = '', shortMessage = '' } = await execa(command, args, options);
    if (!failed) return;
    const [first = shortMessage] = stderr.split('\n').filter((line) => line.trim() !== '');
    const [tool] = script.trim().split(/\s/);
    throw new Error(`${tool}: ${first.replace(/^Error: /, '').replace(/\.$/, '')}`);
  }
}

/** Starts a process that holds a new network namespace, with a loopback, until it ends. */
async function holdNamespace(name: string, logs: string): Promise<Supervised> {
  const hold = 'ip link set lo up && echo ready && exec sleep infinity';
  const args = ['--net', 'sh', '-c', hold];
  const holder = await Supervised.start({ name, command: 'unshare', args }, { logs });
  try {
    await holder.says(/^ready$/, 10_000);
  } catch (error) {
    await holder.stop();
    throw error;
  }
  return holder;
}
