# Stand-ins for the images that the other Dockerfiles begin with, for where no registry can be reached:
#
#   npm run images -- --from-packages
#
# `.` holds debian.tar, a Debian made by mmdebstrap, and servers.tar, one that has the servers of compose.yaml; go, node and npm are
# build contexts (bases.ts).

FROM scratch AS debian
ADD debian.tar /
CMD ["bash"]

FROM debian AS golang
COPY --from=go . /usr/local/go
ENV GOPATH=/go \
    GOTOOLCHAIN=local \
    PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /go

FROM debian AS node
COPY --from=node-program node /usr/local/bin/
COPY --from=npm . /usr/local/
CMD ["node"]

FROM scratch AS busybox
COPY --from=debian /bin/busybox /bin/
RUN ["/bin/busybox", "--install", "-s", "/bin"]
CMD ["sh"]

# With the folders, owners and volumes of those that they stand in for, as whose a volume is depends on them.
FROM scratch AS servers
ADD servers.tar /

FROM servers AS redis
RUN mkdir /data && chown redis:redis /data
VOLUME /data
WORKDIR /data
CMD ["redis-server"]

FROM servers AS mosquitto
RUN mkdir -p /mosquitto/config /mosquitto/data /mosquitto/log && chown -R mosquitto:mosquitto /mosquitto
VOLUME ["/mosquitto/data", "/mosquitto/log"]
CMD ["/usr/sbin/mosquitto", "-c", "/mosquitto/config/mosquitto.conf"]

FROM servers AS nginx
STOPSIGNAL SIGQUIT
CMD ["nginx", "-g", "daemon off;"]
