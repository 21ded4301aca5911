# The two commands of the README, and what developers use.
.PHONY: demo test lint install bench

CARGO ?= cargo

# What is installed here, and what could be: the first look at candor.
demo: install
	$(CARGO) build --release -p candor
	./target/release/candor doctor

# All tests, against real compilers and debuggers.
test: install
	$(CARGO) test --workspace --all-targets

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

# Ratios against what a user would do otherwise; figures go into docs/benchmarks.md.
bench: install
	$(CARGO) run --release -p candor-toolchain --example bench_runner
	$(CARGO) run --release -p candor-tracer --example bench_engine 4 1
	$(CARGO) run --release -p candor-check --example bench_check -- 12
	$(CARGO) run --release -p candor-check --example bench_check -- 12 locals
	$(CARGO) run --release -p candor-mutate --example bench_mutate -- 20

install:
	@./scripts/install.sh
