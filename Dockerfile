# One broker in a container; docker-compose.yml runs it with a volume and a health check.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY . /source
WORKDIR /source
RUN pip install --no-cache-dir '.[compile]' \
    && BARNABAS_COMPILE=1 pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels && useradd --create-home barnabas && install -d -o barnabas /data
USER barnabas
VOLUME /data
EXPOSE 9092
STOPSIGNAL SIGTERM
ENTRYPOINT ["barnabas"]
CMD ["start", "--data", "/data", "--set", "listeners=PLAINTEXT://:9092", "--set", "advertised.listeners=PLAINTEXT://localhost:9092"]
