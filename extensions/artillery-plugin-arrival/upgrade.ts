/** Answers of 101, which switch the protocol of a connection that nobody asked to switch. */
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/** The code of the error. */
export const UPGRADED = 'ARRIVAL_UPGRADED';

/**
 * Makes them an error. Artillery's client listens to the upgrade and then waits for another answer, for which Node has no time-out any
 * more: the virtual user, and so the run, would never end.
 */
export function refuseUpgrades(): void {
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { request: ClientRequest };
    request.once('upgrade', (_answer, socket: Socket) => {
      if (request.getHeader('upgrade') !== undefined) return; // a hook of the script may open a WebSocket
      socket.destroy();
      const text = 'the server switched protocols, which the request did not ask for';
      request.emit('error', Object.assign(new Error(text), { code: UPGRADED }));
    });
  });
}
