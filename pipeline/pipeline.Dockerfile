# The pipeline's own processes: ingest, relay, and what prepares their configuration (pipeline/deploy/README.md).
#
#   docker build -f pipeline/pipeline.Dockerfile -t arrival-pipeline .
#   docker run --rm --env-file ingest.env -e PROCESS_NAME=ingest-1 arrival-pipeline pipeline/ingest/server.ts
#
# Bases are pinned by tag: to pin one by digest, --build-arg NODE=name:tag@sha256:… with what `docker buildx imagetools inspect` says.
# Behind mirrors: --secret id=npmrc,src=$HOME/.npmrc, and the authorities as k6.Dockerfile tells.

ARG VERSION=0.2.0
ARG NODE=node:24-bookworm-slim

FROM ${NODE} AS packages
WORKDIR /arrival
COPY package.json package-lock.json ./
# The one package with an install script is `node`, which would load the Node that this image has already.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=authorities,target=/etc/ssl/certs/authorities.crt \
    npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/node node_modules/.bin/node

FROM ${NODE}
ARG VERSION
LABEL org.opencontainers.image.title="arrival-pipeline" \
      org.opencontainers.image.description="Ingest and relay of a pipeline that stamps every message" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /arrival
COPY --from=packages /arrival/node_modules node_modules
COPY package.json LICENSE ./
COPY pipeline pipeline
# Volumes that are mounted here first belong to whom these belong: Redis' data, and the configuration of all.
RUN mkdir -p /run/arrival /data && chown 65532:65532 /run/arrival /data
ENV NODE_ENV=production \
    INGEST_HOST=0.0.0.0 \
    HEALTH_HOST=0.0.0.0 \
    HEALTH_PORT=9090
USER 65532:65532
EXPOSE 18080 9090
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HEALTH_PORT}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Node is the container's first process and handles SIGTERM itself: it finishes what is in flight and ends.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node"]
CMD ["pipeline/relay/main.ts"]
