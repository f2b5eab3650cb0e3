# make start       a broker on ./barnabas-data, clients at 127.0.0.1:9092; ARGS="--listen :9092" and others
# make test        everything that CI checks of the code: lint, types, import contracts, all tests; WORKERS=2 share them
# make quick       the same without the slow tests
# make thorough    thousands of generated messages for every API and version, and as many damaged ones
# make kafka       Apache Kafka's jars, so that the tests ask Kafka itself
# make spark       pyspark and the jars of its Kafka source: half a gigabyte, for test_spark.py and its part of make compat
# make pipeline    made-up activity through a broker into a lake, audited, and a report to look at; needs Java 17
# make other-languages   clients for Node and Go, with which tests run what docs/TESTING-OTHER-LANGUAGES.md says of them
# make fuzz        a million hostile inputs
# make generate    the message files again, from Kafka's published jars
# make wheel       what a release is, in dist/: what pyproject.toml lists as compiled is C in it; takes a C compiler
# make test-compiled   the tests of what that concerns, on that wheel in an environment of its own
# make bench       Barnabas beside Apache Kafka, every cell of bench/cells/: an hour; ARGS="--only 'produce.*' --quick", "--write"
# make bench-cluster    three nodes of Barnabas beside three of Apache Kafka, bench/cluster/; ARGS as for `make bench`
# make bench-protocol   the codec beside kio, in one run
# make bench-storage    the log beside bare loops over the same bytes
# make bench-testing    fifty tests on the pytest fixture, beside Kafka started for them
# make bench-tools      our performance tools beside Kafka's, against the same brokers
# make bench-pipeline   land and derive with their topic on Barnabas and on Apache Kafka, after `make spark`; ARGS=--grow
# make bench-source     the source for Spark beside Spark's own, after `make spark`
# make bench-smoke      all of these once and shortly, to see that they work; bench-smoke-spark those with Spark
# make twin        the same asked of Barnabas and of Apache Kafka, and every answer compared; ARGS="--only 'produce.*'"
# make compat      other people's clients on a node and on Apache Kafka; ARGS=--write for docs/COMPATIBILITY.md
# make compat-quick   the part of it that CI runs
# make golden      records anew what real clients and a real Kafka say to each other

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
COMPILED = $(VENV)-compiled
CODE = setup.py $(shell find broker cli client coordination pipeline protocol replication storage testing -name '*.py')
WORKERS ?= 2
SMOKES = smoke-protocol smoke-storage smoke-testing smoke-perf_tool smoke-cluster
SPARK_JARS = $(patsubst %/pom.sha256,%,$(firstword $(wildcard .cache/spark-*/pom.sha256)))
KAFKA_JARS = .cache/kafka-$(shell sed -n 's/.*<kafka.version>\(.*\)<.*/\1/p' tests/kafka/pom.xml)

.PHONY: start test chaos quick thorough wheel test-compiled fuzz check kafka spark pipeline generate bench bench-cluster bench-protocol bench-storage bench-testing bench-tools bench-source bench-pipeline bench-smoke smoke-bench $(SMOKES) bench-smoke-spark smoke-pipeline smoke-source twin compat golden other-languages clean

start: $(VENV)/package
	$(BIN)/barnabas start $(ARGS)

# What a broker needs, and no more: it is there in seconds.
$(VENV)/package: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $(VENV)/package $@

wheel: $(COMPILED)/wheel

$(COMPILED)/wheel: $(VENV)/installed $(CODE)
	rm -rf build dist
	BARNABAS_COMPILE=1 $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	mkdir -p $(COMPILED) && touch $@

$(COMPILED)/installed: $(COMPILED)/wheel
	$(PYTHON) -m venv $(COMPILED)
	$(COMPILED)/bin/pip install --quiet --upgrade pip
	$(COMPILED)/bin/pip install --quiet "$$(echo dist/*.whl)[dev]"
	$(COMPILED)/bin/pip install --quiet --no-deps --force-reinstall dist/*.whl
	touch $@

check: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tests bench compat
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -n $(WORKERS)

quick: check
	$(BIN)/pytest -n $(WORKERS) -m 'not slow'

test-compiled: $(COMPILED)/installed
	BARNABAS_REQUIRE_COMPILED=1 $(COMPILED)/bin/pytest -n $(WORKERS) -m 'not slow' tests/broker tests/protocol tests/storage tests/test_compiled.py

thorough: $(VENV)/installed
	BARNABAS_THOROUGH=1 $(BIN)/pytest -n $(WORKERS) -k 'kio or kafka or hostile'

fuzz: $(VENV)/installed
	$(BIN)/python -m tests.protocol.fuzz 1000000

kafka:
	tests/kafka/fetch kafka
	$(PYTHON) -m tests.kafka.class_archive

spark: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[spark]'
	tests/kafka/fetch spark

# Jars that `make spark` has fetched are used; without, Spark fetches its own, once.
pipeline: $(VENV)/spark
	$(if $(SPARK_JARS),BARNABAS_SPARK_JARS=$(SPARK_JARS)) $(BIN)/barnabas pipeline demo $(ARGS)

$(VENV)/spark: $(VENV)/package
	$(BIN)/pip install --quiet --editable '.[spark]'
	touch $@

other-languages:
	npm install --silent --prefix .cache/node kafkajs@2
	mkdir -p .cache/go && cd .cache/go && { [ -e go.mod ] || go mod init orders; } && go get github.com/twmb/franz-go/pkg/kgo@v1

generate: $(VENV)/installed kafka
	$(BIN)/python -m barnabas.protocol.generate $(KAFKA_JARS)
	$(BIN)/ruff check --quiet --select I --fix protocol/messages protocol/records
	$(BIN)/ruff format --quiet protocol/messages protocol/records

golden: $(VENV)/installed kafka
	$(BIN)/pip install --quiet kafka-python==3.0.12 confluent-kafka==2.16.1
	$(BIN)/python tests/golden/record.py

chaos: $(VENV)/installed kafka
	$(BIN)/pytest -m chaos tests/cluster $(ARGS)

bench: $(COMPILED)/installed kafka
	$(COMPILED)/bin/python -m bench $(ARGS)

bench-cluster: $(COMPILED)/installed kafka
	$(COMPILED)/bin/python -m bench.cluster $(ARGS)

bench-protocol: $(COMPILED)/installed
	$(COMPILED)/bin/python -m bench.protocol

bench-testing: $(COMPILED)/installed kafka
	$(COMPILED)/bin/python -m bench.testing

bench-tools: $(COMPILED)/installed kafka
	$(COMPILED)/bin/python -m bench.perf_tool

bench-storage: $(COMPILED)/installed
	$(COMPILED)/bin/python -m bench.storage

bench-pipeline: $(VENV)/installed kafka
	$(BIN)/python -m bench.pipeline $(ARGS)

bench-source: $(VENV)/installed
	$(BIN)/python -m bench.source $(ARGS)

# With -j 2, those that wait for something beside those that do not.
bench-smoke: smoke-bench $(SMOKES)

smoke-bench: $(COMPILED)/installed kafka
	$(COMPILED)/bin/python -m bench --smoke

$(SMOKES): smoke-%: $(COMPILED)/installed kafka
	$(COMPILED)/bin/python -m bench.$* --smoke

bench-smoke-spark: smoke-pipeline smoke-source

smoke-pipeline smoke-source: smoke-%: $(VENV)/installed kafka
	$(BIN)/python -m bench.$* --smoke

twin: $(COMPILED)/installed kafka
	$(COMPILED)/bin/python -m compat.twin $(ARGS)

compat: $(VENV)/installed $(COMPILED)/installed kafka
	BARNABAS_PYTHON=$(COMPILED)/bin/python $(BIN)/python -m compat $(ARGS)

compat-quick: $(VENV)/installed $(COMPILED)/installed kafka
	BARNABAS_PYTHON=$(COMPILED)/bin/python $(BIN)/python -m compat --quick

clean:
	rm -rf $(VENV) $(COMPILED) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
