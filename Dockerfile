# The ranking service. Built in two steps, so that no compiler and no source is in what runs.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/counterrank \
    && /opt/counterrank/bin/pip install --no-cache-dir '.[serve]' \
    && /opt/counterrank/bin/counterrank warm --ahead /opt/counterrank/lib/python3.13/site-packages/counterrank/compiled/kept_ahead

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /data counterrank
COPY --from=build /opt/counterrank /opt/counterrank
ENV PATH=/opt/counterrank/bin:$PATH \
    COUNTERRANK_HOST=0.0.0.0 \
    COUNTERRANK_STORE=sqlite:////data/counterrank.db
USER counterrank
WORKDIR /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=2)"]
# Without COUNTERRANK_TOKENS it refuses to listen on any address but loopback.
CMD ["counterrank", "serve"]
