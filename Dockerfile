# One broker in a container; docker-compose.yml runs it with a volume and a health check.
FROM python:3.13-slim
COPY . /source
RUN pip install --no-cache-dir /source && rm -r /source && useradd --create-home barnabas && install -d -o barnabas /data
USER barnabas
VOLUME /data
EXPOSE 9092
STOPSIGNAL SIGTERM
ENTRYPOINT ["barnabas"]
CMD ["start", "--data", "/data", "--set", "listeners=PLAINTEXT://:9092", "--set", "advertised.listeners=PLAINTEXT://localhost:9092"]
