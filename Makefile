# The two commands of the README, and what developers use.
.PHONY: demo test lint install install-tests bench

CARGO ?= cargo

# The first look at candor: sixty seconds of hunting with the compilers installed here, from a seed that is known to show
# something, then the report. Exit code 1 of both means that there are findings; a machine so busy that a minute was not
# enough for one gets two more.
DEMO = target/demo
demo: install
	$(CARGO) build --release -p candor
	rm -rf $(DEMO)
	./target/release/candor hunt --store $(DEMO)/store --for 60s --seed 48 --variants 1 -O0 -Og -O2; code=$$?; \
	for again in 1 2; do \
		test $$code = 0 || break; \
		./target/release/candor hunt --store $(DEMO)/store --for 60s --resume; code=$$?; \
	done; \
	test $$code = 1
	./target/release/candor report --store $(DEMO)/store --html $(DEMO)/report; test $$? -le 1
	@echo "The report: $(CURDIR)/$(DEMO)/report/index.html"

# All tests, against real compilers and debuggers.
test: install-tests
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
	./scripts/llvm-source.sh 19 target/llvm-19
	$(CARGO) run --release -p candor-conform --example bench_conform -- 19 target/llvm-19/llvm/test/Transforms 200
	$(CARGO) run --release -p candor-hunt --example bench_hunt -- 4 2

install:
	@./scripts/install.sh

install-tests:
	@./scripts/install.sh --tests
