module checks

go 1.26.0
