# A worker, or any other command: docker run … customer-mirror sync
# The package, as `npm pack` makes it anywhere else.
FROM node:24-bookworm-slim AS package
WORKDIR /checkout
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json README.md LICENSE ./
COPY src ./src
COPY jobs ./jobs
# The checkout is not here: docker build --build-arg CUSTOMER_MIRROR_COMMIT="$(git rev-parse HEAD)" … says which commit it is.
ARG CUSTOMER_MIRROR_COMMIT=
RUN mkdir /package && npm pack --pack-destination /package

# The package with what it needs, in the versions of the lock file.
FROM node:24-bookworm-slim AS installed
WORKDIR /app
COPY --from=package /package/ /package/
# Readable by the user below, whatever the umask of the checkout was.
RUN tar --extract --file="$(ls /package/*.tgz)" --strip-components=1 --no-same-owner && chmod --recursive u=rwX,go=rX .
COPY package-lock.json ./
# Node 24 is here already, so the optional package that brings it along is left out.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
# With more arenas, threads keep 20 MB that they no longer use.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
COPY --from=installed /app /app
RUN ln --symbolic /app/src/cli/customer-mirror.mjs /usr/local/bin/customer-mirror

# The mirror, and the embedded queue where there is one. Nothing else is ever written.
RUN install --directory --owner=node --group=node --mode=0700 /data
VOLUME /data
USER node

ENTRYPOINT ["customer-mirror"]
CMD ["worker"]
