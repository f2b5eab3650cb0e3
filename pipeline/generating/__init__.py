"""What generate is made of: a stream of activity that is made up, without Spark."""
