"""`barnabas pipeline NAME --config pipeline.toml`: each job is a module of barnabas.pipeline, which needs PySpark."""
