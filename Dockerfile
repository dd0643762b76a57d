# Builds Carillon, and an image that holds it and the libraries it is linked to.
#
#   docker build -t carillon .
#   docker run --rm -v carillon:/var/lib/carillon carillon init --directory /var/lib/carillon --host push.example.com
#   docker run -d --name carillon --stop-timeout 40 -v carillon:/var/lib/carillon \
#       -p 8443:8443 -p 2195:2195 -p 5223:5223 carillon
#   docker exec carillon carillon status
#
# The stop timeout is longer than drain.timeout, so that a stop loses no session before its time.

FROM swift:6.3-bookworm AS build
WORKDIR /source
# First what seldom changes, so that a change of the sources does not install the packages again.
COPY scripts/setup scripts/setup
RUN scripts/setup
COPY . .
RUN swift build -c release --product carillon --static-swift-stdlib -Xlinker -s \
    && cp "$(swift build -c release --show-bin-path)/carillon" /carillon

FROM debian:bookworm-slim
RUN apt-get update -qq \
    && apt-get install -qq --no-install-recommends \
        ca-certificates libcurl4 libjemalloc2 libmicrohttpd12 libnghttp2-14 libsimdjson14 libsqlite3-0 libssl3 \
        libstdc++6 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --home-dir /var/lib/carillon --shell /usr/sbin/nologin carillon \
    && install -d -m 0700 -o carillon -g carillon /var/lib/carillon
COPY --from=build /carillon /usr/local/bin/carillon

USER carillon
# The instance. Every command finds its carillon.conf here.
WORKDIR /var/lib/carillon
VOLUME /var/lib/carillon
# Providers, channel management, devices. The admin port stays inside: `docker exec carillon carillon ...`.
EXPOSE 8443 2195 5223
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["carillon", "status"]
ENTRYPOINT ["carillon"]
CMD ["serve", "--config", "carillon.conf"]
