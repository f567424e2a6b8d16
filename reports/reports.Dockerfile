# The history server: shows the runs of a folder in a browser (`npm run reports`).
#
#   docker build -f reports/reports.Dockerfile -t arrival-reports .
#   docker run --rm --network host -v "$PWD/reports/runs:/arrival/reports/runs:ro" arrival-reports     # http://127.0.0.1:8022
#
# Behind mirrors: as pipeline/pipeline.Dockerfile.

ARG VERSION=0.2.0
ARG NODE=node:24-bookworm-slim

FROM ${NODE} AS pages
WORKDIR /arrival
COPY package.json package-lock.json ./
# The one package with an install script is `node`, which would load the Node that this image has already.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=authorities,target=/etc/ssl/certs/authorities.crt \
    npm ci --ignore-scripts --no-audit --no-fund
COPY pipeline/shared pipeline/shared
COPY reports reports
RUN node node_modules/vite/bin/vite.js build --config reports/vite.config.ts --mode comparison \
    && node node_modules/vite/bin/vite.js build --config reports/vite.config.ts --mode history
# It asks the registry, too.
RUN --mount=type=cache,target=/root/.npm \
    --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=authorities,target=/etc/ssl/certs/authorities.crt \
    npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/node node_modules/.bin/node

FROM ${NODE}
ARG VERSION
LABEL org.opencontainers.image.title="arrival-reports" \
      org.opencontainers.image.description="Shows the runs of a load test in a browser" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /arrival
COPY package.json LICENSE ./
COPY --from=pages /arrival/node_modules node_modules
COPY --from=pages /arrival/pipeline pipeline
COPY --from=pages /arrival/reports reports
ENV NODE_ENV=production
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["node"]
CMD ["reports/history/server.ts"]
