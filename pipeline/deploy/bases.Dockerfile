# Stand-ins for the images that the other Dockerfiles begin with, for where no registry can be reached:
#
#   npm run images -- --from-packages
#
# `.` holds debian.tar, a Debian made by mmdebstrap; go, node and npm are build contexts (bases.ts).

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
