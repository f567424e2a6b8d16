import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian puts daemons where a user's PATH does not look. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin', '/opt/homebrew/sbin'];

/** nginx' push module, where Debian and Ubuntu put it. */
export const NCHAN = '/usr/lib/nginx/modules/ngx_nchan_module.so';

/** Whether a program is installed; a path: whether that file is there. */
export function isInstalled(program, path = process.env.PATH ?? '') {
  if (program.startsWith('/')) return existsSync(program);
  return [...path.split(delimiter), ...SYSTEM_FOLDERS].some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The servers a run needs, less those that the environment replaces; for the tests and the bench, all and their tools. */
export function neededPrograms(env, { forTests = false, forBench = false } = {}, has = isInstalled) {
  const programs = [];
  const all = forTests || forBench;
  if (all || !(env.REDIS_URL || env.INGEST_URL)) programs.push('redis-server');
  if (all || !(env.MQTT_URL || env.INGEST_URL)) {
    programs.push('mosquitto', 'mosquitto_passwd', 'mosquitto_sub');
  }
  if (forTests || (env.TOPOLOGY === 'cluster' && !env.INGEST_URL)) programs.push('nginx');
  if (forTests || (env.TLS === 'true' && !env.INGEST_URL)) programs.push('openssl');
  // A C compiler: Go's race detector is C.
  const browser = has('apt-get') ? 'chromium-headless-shell' : 'chromium';
  if (forTests) programs.push(browser, 'faketime', 'pdftotext', 'promtool', 'gcc');
  if (forTests && has('apt-get')) programs.push(NCHAN);
  if (forBench) programs.push('wrk');
  return programs;
}

/** The package that brings a program, by package manager; Debian's name by default. */
const PACKAGES = {
  'redis-server': { brew: 'redis', dnf: 'redis', apk: 'redis', pacman: 'redis' },
  mosquitto_passwd: {
    debian: 'mosquitto',
    brew: 'mosquitto',
    dnf: 'mosquitto',
    apk: 'mosquitto',
    pacman: 'mosquitto',
  },
  mosquitto_sub: { debian: 'mosquitto-clients', brew: 'mosquitto', dnf: 'mosquitto', pacman: 'mosquitto' },
  ip: { debian: 'iproute2', dnf: 'iproute', apk: 'iproute2', pacman: 'iproute2' },
  tc: { debian: 'iproute2', dnf: 'iproute-tc', apk: 'iproute2-tc', pacman: 'iproute2' },
  nft: { debian: 'nftables', dnf: 'nftables', apk: 'nftables', pacman: 'nftables' },
  nsenter: { debian: 'util-linux', dnf: 'util-linux', apk: 'util-linux-misc', pacman: 'util-linux' },
  unshare: { debian: 'util-linux', dnf: 'util-linux', apk: 'util-linux-misc', pacman: 'util-linux' },
  chromium: { brew: '--cask chromium' },
  gcc: { debian: 'gcc libc6-dev', brew: 'gcc', dnf: 'gcc', apk: 'gcc musl-dev', pacman: 'gcc' },
  pdftotext: {
    debian: 'poppler-utils',
    brew: 'poppler',
    dnf: 'poppler-utils',
    apk: 'poppler-utils',
    pacman: 'poppler',
  },
  promtool: { debian: 'prometheus', dnf: 'golang-github-prometheus' },
  [NCHAN]: { debian: 'libnginx-mod-nchan' },
  faketime: { brew: 'libfaketime', dnf: 'libfaketime', apk: 'libfaketime', pacman: 'libfaketime' },
};

export function packagesFor(programs, manager) {
  const name = (program) => PACKAGES[program]?.[manager] ?? PACKAGES[program]?.debian ?? program;
  return [...new Set(programs.map(name))];
}

const COMMANDS = {
  'apt-get': 'sudo apt-get install',
  brew: 'brew install',
  dnf: 'sudo dnf install',
  apk: 'sudo apk add',
  pacman: 'sudo pacman -S',
};

/** What a person types where there is no apt-get. */
export function installCommand(programs, has = isInstalled) {
  const manager = Object.keys(COMMANDS).find((name) => has(name));
  if (manager === undefined) return `install these with the system's package manager: ${programs.join(', ')}`;
  return `${COMMANDS[manager]} ${packagesFor(programs, manager).join(' ')}`;
}

/**
 * Installs Debian packages, as root, without starting the services they bring: the stack runs servers of its
 * own. A policy of the machine's own stays; ours is there during the installation only (deb-systemd-invoke(1)).
 */
export function aptScript(packages) {
  return `set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f '$policy EXIT
  trap 'exit 130' INT TERM
  printf '#!/bin/sh\\nexit 101\\n' > $policy
  chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ${packages.join(' ')}
`;
}
