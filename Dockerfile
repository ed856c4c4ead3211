# A worker, or any other command: docker run … customer-mirror sync
FROM node:24-bookworm-slim

ENV NODE_ENV=production
WORKDIR /app

# Node 24 is here already, so the optional package that brings it along is left out.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund && npm cache clean --force

COPY src ./src
COPY jobs ./jobs

# The mirror, and the embedded queue where there is one. Nothing else is ever written.
RUN install --directory --owner=node --group=node --mode=0700 /data
VOLUME /data
USER node

ENTRYPOINT ["node", "/app/src/cli/customer-mirror.mjs"]
CMD ["worker"]
