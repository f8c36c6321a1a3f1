# nephoscope with its measuring tools. `make wheels` first, then:
#   docker build --tag nephoscope .
#   docker run --rm --volume "$PWD/results:/home/nephoscope/results" nephoscope demo
FROM debian:trixie-slim
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
COPY scripts/debian-tools.txt /tmp/
# The release of Debian fixes the versions.
# hadolint ignore=DL3008
RUN apt-get update \
    && awk '!/^#/ { print $2 }' /tmp/debian-tools.txt | sort -u \
        | xargs apt-get install --yes --no-install-recommends ca-certificates openssh-client python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* /tmp/debian-tools.txt
COPY dist/*.whl /tmp/dist/
RUN python3 -m venv /opt/nephoscope \
    && /opt/nephoscope/bin/pip install --no-cache-dir /tmp/dist/*_"$(uname -m)".whl \
    && rm -rf /tmp/dist
ENV PATH=/opt/nephoscope/bin:$PATH
# No root: PostgreSQL refuses it, and nothing here needs it. The folder of results must belong to this user.
RUN useradd --create-home --uid 1000 nephoscope
USER 1000
WORKDIR /home/nephoscope
ENTRYPOINT ["nephoscope"]
CMD ["--help"]
