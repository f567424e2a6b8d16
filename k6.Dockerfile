# What measures a pipeline from a machine or a cluster that has neither Node, Go nor a clone.
#
#   docker build -f k6.Dockerfile --target arrival -t arrival https://github.com/arrival-bench/arrival.git
#   docker run --rm arrival --help
#
# is everything: load, comparisons, gates, history (README.md has a run). The smaller image of a generator is k6 with this
# project's extensions and its scenarios:
#
#   docker build -f k6.Dockerfile -t arrival-k6 .
#
#   export INGEST_URL=http://ingest.example:18080 INGEST_TOKEN=… \
#     MQTT_URL=mqtt://user:password@broker.example:1883 REDIS_URL=redis://:password@redis.example:6379/0
#   mkdir -p reports/runs
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/reports/runs:/arrival/reports/runs" \
#     -e INGEST_URL -e INGEST_TOKEN -e MQTT_URL -e REDIS_URL -e NETWORK=lan arrival-k6
#
# Named without a value, a variable comes from the shell: no password in the process list.
# --user makes the reports belong to whoever runs it; without it they are written as 65532, which a mounted folder must
# allow. With a pipeline on the same machine add --network host: its 127.0.0.1 is not the container's.
# k6-operator looks for its script with a shell: --target operator (pipeline/deploy/README.md).
# Another run: append the words for k6, such as: run -e PROFILE=profiles/smoke.yml scenarios/ramp.js
# Before it: x arrival try my.yml, with that file mounted, lets one message go round.
# After it: x arrival check, merge or render, with a directory in reports/runs.
#
# Behind mirrors, and nothing of it stays in the image: --build-arg GOPROXY, --secret id=npmrc,src=$HOME/.npmrc, and for
# authorities of one's own --secret id=authorities,src=/etc/ssl/certs/ca-certificates.crt. Let that npmrc have
# cafile=/etc/ssl/certs/authorities.crt: npm reads no other authorities there, and ignores a path that the build lacks.

ARG VERSION=0.2.0
ARG GO=golang:1.26-bookworm
ARG BUSYBOX=busybox:1.37-musl
ARG NODE=node:24-bookworm-slim

FROM ${GO} AS k6
WORKDIR /src
COPY extensions/k6 ./
# Modules and compiled packages stay in caches outside the layers: a source that changes compiles itself and not k6, and
# loads nothing. `go mod download` in a layer of its own would also load what only tests want.
# Static, as the final image has no libc. -s -w leaves out what only debuggers read, over a quarter of the size; panics
# keep their names and lines. No hash of the sources, unlike in `npm run setup`: none lie beside this binary.
# The AGPL wants its text to go with the binary. The secret is a file of its own, as buildah removes what a mount has covered.
ARG GOPROXY
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    --mount=type=secret,id=authorities,target=/etc/ssl/certs/authorities.crt \
    CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w" -o /k6 ./cmd/k6 \
    && cp "$(go list -m -f '{{.Dir}}' go.k6.io/k6/v2)/LICENSE.md" /k6-LICENSE.md
# The final image has no mkdir.
RUN mkdir /runs

# Empty: a static binary needs the CA certificates for https and mqtts, and nothing else that a distribution brings.
FROM scratch AS plain
ARG VERSION
LABEL org.opencontainers.image.title="arrival-k6" \
      org.opencontainers.image.description="k6 that measures how long a message takes to arrive" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0 AND AGPL-3.0-only"
COPY --from=k6 /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# The same places as in the repository: scenarios find their files relative to themselves.
WORKDIR /arrival
COPY LICENSE ./
COPY --from=k6 /k6-LICENSE.md ./
# Numbers, as there is no /etc/passwd; Kubernetes' runAsNonRoot can check nothing else. Only this folder can be written:
# its parent exists by now, and belongs to root.
COPY --from=k6 --chown=65532:65532 /runs reports/runs
COPY --from=k6 /k6 ./
COPY scenarios scenarios
# What scripts import from beside them.
COPY pipeline/shared/labels.js pipeline/shared/
COPY reports/sweep.ts reports/

# As in the project's own commands: no download of extensions, no report to k6's makers, and Go's collector at the
# setting that saves k6 an eighth of its CPU.
ENV K6_AUTO_EXTENSION_RESOLUTION=false \
    K6_NO_USAGE_REPORT=true \
    GOGC=400
USER 65532:65532
ENTRYPOINT ["/arrival/k6"]
CMD ["run", "scenarios/ramp.js"]

# The same with a shell, for k6-operator: it looks for the script with `sh`, and for k6 in PATH.
FROM ${BUSYBOX} AS operator
ARG VERSION
LABEL org.opencontainers.image.title="arrival-k6-operator" \
      org.opencontainers.image.description="k6 that measures how long a message takes to arrive, for k6-operator" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0 AND AGPL-3.0-only"
COPY --from=plain /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=plain /arrival /arrival
WORKDIR /arrival
ENV PATH=/arrival:/bin \
    K6_AUTO_EXTENSION_RESOLUTION=false \
    K6_NO_USAGE_REPORT=true \
    GOGC=400
USER 65532:65532

# The packages of the commands, and the pages of comparisons and of the history.
FROM ${NODE} AS pages
WORKDIR /arrival
COPY package.json package-lock.json ./
# The one package with an install script is `node`, which would load the Node that this image has already.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=authorities,target=/etc/ssl/certs/authorities.crt \
    npm ci --ignore-scripts --no-audit --no-fund
COPY pipeline pipeline
COPY reports reports
RUN node node_modules/vite/bin/vite.js build --config reports/vite.config.ts --mode comparison \
    && node node_modules/vite/bin/vite.js build --config reports/vite.config.ts --mode history
# It asks the registry, too.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=authorities,target=/etc/ssl/certs/authorities.crt \
    npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/node node_modules/.bin/node

# All commands of a clone that start no pipeline.
FROM ${NODE} AS arrival
ARG VERSION
LABEL org.opencontainers.image.title="arrival" \
      org.opencontainers.image.description="Measures how long a message takes to arrive" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0 AND AGPL-3.0-only"
COPY --from=plain /arrival /arrival
COPY --from=pages /arrival /arrival
# The folder that a user mounts. Nobody can write to it without: a report would be lost with the container.
WORKDIR /data
ENV NODE_ENV=production \
    ARRIVAL_REPORTS=/data/reports \
    K6_AUTO_EXTENSION_RESOLUTION=false \
    K6_NO_USAGE_REPORT=true
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "/arrival/pipeline/deploy/image.ts"]

# What is built unless a target is named.
FROM plain
