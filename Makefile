# Everything a newcomer needs: `make demo` and `make test` set themselves up in .venv. `make help` lists all targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
unexport PYTHONDONTWRITEBYTECODE # set in many containers: each process would compile all that it imports
KERNELS := $(shell find src -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
# Byte code is made when a module is first imported: compiling all of it takes a third of an installation.
INSTALL := -m pip install --no-compile
EDITABLE := SLEUTH_COMPILED=1 $(BIN)/python $(INSTALL) --no-build-isolation --editable

.PHONY: help demo test test-all picture release-check browser conformance conformance-mteb cluster core agents check build wheel reference docs bench bench-quality bench-code bench-answers bench-cluster image-steps campaigns filters load api overflow sanitize fuzz damage mutants soak formats clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## index text and code, search both, get a cited answer
	@$(BIN)/python examples/demo.py

test: $(VENV)/.developed $(VENV)/.kernels check ## lint, types and every test
	$(BIN)/python -m pytest -n 3 --dist worksteal
	@echo "left out: slow tests (make campaigns), the page in Chromium (make browser), Ray (make cluster), suites of frameworks (make conformance); make test-all runs all of them"

test-all: test browser conformance conformance-mteb cluster agents campaigns ## every test that can run on one machine: an hour or two

picture: $(VENV)/.developed ## run the commands of the README again, write their outputs into it, and draw docs/terminal.svg and docs/speed.svg
	$(BIN)/python tools/terminal_picture.py
	$(BIN)/python tools/site.py speed

release-check: $(VENV)/.developed ## do what a release does, without publishing: build, check, install, run the demo, list the components
	$(BIN)/python tools/release_check.py build/release

browser: $(VENV)/.developed $(VENV)/.kernels ## install what the tests of the web page need (Chromium, Playwright, axe), and run them
	$(BIN)/python -m pip install 'playwright>=1.50'
	@command -v chromium chromium-browser google-chrome > /dev/null || apt-get install -y chromium || sudo apt-get install -y chromium
	npm install --silent --no-audit --no-fund --prefix build/browser axe-core@4
	$(BIN)/python -m pytest tests/surfaces/page

core: $(VENV)/.developed $(VENV)/.kernels ## the suite of the core without the folder of plugins
	$(BIN)/python -m pytest -m slow tests/test_plugins.py

agents: $(VENV)/.developed $(VENV)/.kernels ## install the conformance tests of MCP (from npm, with a Node for them), run them, and time the start of the server
	npm install --silent --no-audit --no-fund --prefix build/conformance @modelcontextprotocol/conformance node@22
	$(BIN)/python -m pytest tests/surfaces/mcp/test_stdio.py
	$(BIN)/python -m benchmarks.mcp_start

FRAMEWORKS := build/conformance-frameworks
MTEB := build/conformance-mteb
SUITES = $(filter-out %_mteb.py %_sentence_transformers.py %_txtai.py,$(wildcard tests/plugins/frameworks/conformance_*.py)) $(addprefix tests/plugins/vendors/test_,chat.py clients.py dify.py files.py)
CONFORMANCE := -m pytest -o addopts= -o asyncio_mode=auto --noconftest
conformance: $(FRAMEWORKS)/.installed build ## suites of frameworks, quickstarts of other packages with one import changed, and tests of adapters, in an environment of their own
	PYTHONPATH=. $(FRAMEWORKS)/bin/python $(CONFORMANCE) $(SUITES) tests/plugins/evaluation/test_ir_datasets.py

conformance-mteb: $(MTEB)/.installed build ## the mock tasks of MTEB, models of sentence-transformers and txtai, which bring PyTorch (6 GB), in an environment of their own
	PYTHONPATH=. $(MTEB)/bin/python $(CONFORMANCE) $(addprefix tests/plugins/frameworks/conformance_,mteb.py sentence_transformers.py txtai.py)

# pip takes many minutes to choose versions of so many packages. Some of them are built by a setuptools that still has pkg_resources.
build/old-setuptools.txt:
	mkdir -p build
	echo 'setuptools<80' > $@

UV_INSTALL = -m uv pip install --build-constraints build/old-setuptools.txt

$(FRAMEWORKS)/.installed: pyproject.toml build/old-setuptools.txt
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install uv
	$(FRAMEWORKS)/bin/python $(UV_INSTALL) --python $(FRAMEWORKS)/bin/python --editable '.[hybrid,langchain,haystack,llama-index,langgraph,pydantic-ai,dspy,tables,ir-datasets,pyterrier,imports,chroma,fastembed,serve]' model2vec langchain-tests langchain-classic langchain-community langchain-openai langchain-qdrant llama-index-postprocessor-tei-rerank bm25s rank-bm25 'cohere>=5.15' ipykernel nbclient pandas polars datasets pytest pytest-asyncio
	touch $@

$(MTEB)/.installed: pyproject.toml build/old-setuptools.txt
	$(PYTHON) -m venv $(MTEB)
	$(MTEB)/bin/python -m pip install uv
	$(MTEB)/bin/python $(UV_INSTALL) --python $(MTEB)/bin/python --editable '.[hybrid,mteb,models]' txtai pytest pytest-asyncio
	touch $@

cluster: $(VENV)/.developed $(VENV)/.kernels ## install Ray (500 MB with what it needs) and Azurite, and run the tests of object storage, searchers and builders
	$(BIN)/python -m pip install 'ray[data,serve]>=2.50'
	npm install --silent --no-audit --no-fund --prefix build/azurite azurite@3
	$(BIN)/python -m pytest -m '' tests/cluster tests/plugins/ray

bench: $(VENV)-bench/.installed ## full-text, vector and hybrid search, filters, folders, cold start and local documents beside their peers
	for n in 300000 1000000; do $(VENV)-bench/bin/python -m benchmarks.lexical_peers --passages $$n || exit; done
	for b in query_stages ingest_stages folder cold_start local_docs hybrid_peers dense_peers filters; do $(VENV)-bench/bin/python -m benchmarks.$$b || exit; done

# On Debian: apt-get install libreoffice-{writer,calc,impress}-nogui pandoc asciidoctor groff poppler-utils, and lists of source packages (Types: deb-src)
formats: $(VENV)/.developed build build/formats/.installed ## files by LibreOffice, pandoc, groff and more (those installed), and of source packages: what is found in them
	$(BIN)/python -m benchmarks.formats --files build/formats/files --peer build/formats/venv/bin/python
	@du -sm build/formats/venv | awk '{ print "markitdown and what it needs: " $$1 " MB" }'

bench-quality: $(VENV)-bench/.installed ## ranking on all collections under .data, beside the peers
	$(VENV)-bench/bin/python -m benchmarks.quality

bench-code: $(VENV)-bench/.installed ## code search: quality over the collections, by file, function and line, calls, resolution, speed (SRC=a repository), beside documents
	$(VENV)-bench/bin/python -m benchmarks.code_quality --work build/code --peers
	$(VENV)-bench/bin/python -m benchmarks.code_lines --work build/code
	$(VENV)-bench/bin/python -m benchmarks.code_calls --work build/code $(foreach package,rich pydantic click,$(wildcard $(VENV)-bench/lib/python3*/site-packages/$(package)))
	$(VENV)-bench/bin/python -m benchmarks.code_resolution --work build/code $(foreach package,rich pydantic click,$(wildcard $(VENV)-bench/lib/python3*/site-packages/$(package)))
	$(VENV)-bench/bin/python -m benchmarks.code_speed --work build/code $(or $(SRC),$(wildcard $(VENV)-bench/lib/python3*/site-packages))
	folder=$$(mktemp -d) && git archive HEAD docs src | tar x -C $$folder && \
	$(VENV)-bench/bin/python -m benchmarks.sources sleuth=$$folder:docs:src; rm -rf "$$folder"

bench-answers: $(VENV)-bench/.installed ## answers to questions about six corpora, checked out in CORPORA; by a model with MODEL
	$(VENV)-bench/bin/python -m benchmarks.answers $(CORPORA) $(if $(MODEL),--model $(MODEL))
	$(if $(MODEL),,$(VENV)-bench/bin/python -m benchmarks.languages)

bench-cluster: $(VENV)/.developed $(VENV)/.kernels ## an index of many shards beside one index, and over Ray
	$(BIN)/python -m pip install 'ray[data,serve]>=2.50'
	for b in cluster cluster_ray; do $(BIN)/python -m benchmarks.$$b || exit; done

$(VENV)-bench/.installed: pyproject.toml setup.py
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --editable '.[hybrid,code,bench,eval]'
	touch $@

image-steps: $(VENV)/.developed build ## as root: do the steps of deploy/Dockerfile in a fresh root of Debian, and start the server there
	$(BIN)/python tools/image_steps.py build/image/root

campaigns: $(VENV)/.developed build ## the slow ones: 250 kills, 850 power cuts (also of the server), failing calls, 5,000 runs of the engine's model, 10,000 filters, all examples of each property
	SLEUTH_EXPLORE=1 SLEUTH_RUNS=200 SLEUTH_CUTS=170 SLEUTH_SECONDS=60 SLEUTH_MODEL_RUNS=5000 SLEUTH_FILTERS=10000 $(BIN)/python -m pytest -n 2 -m '' \
		tests/faults tests/code/test_workers.py tests/engine/test_model.py tests/engine/test_memory.py tests/testing/test_filters_agree.py
	SLEUTH_EXACT_TIMES=1 SLEUTH_EXPLORE=1 $(BIN)/python -m pytest tests/web/test_web_faults.py tests/knowledge_base/test_slices_matrix.py \
		tests/surfaces/test_isolation.py tests/surfaces/test_prefix_law.py
	SLEUTH_EXPLORE=1 $(BIN)/python -m pytest -n 2 -m 'hypothesis and not slow'

filters: $(VENV)/.developed build ## 10,000 filters: AWS, Chroma, the engine and the oracle agree
	SLEUTH_EXPLORE=1 SLEUTH_FILTERS=10000 $(BIN)/python -m pytest tests/testing/test_filters_agree.py

load: $(VENV)/.developed build ## the HTTP server under 100 clients for 60 s, and what it adds to a search
	$(BIN)/python -m benchmarks.serve_load
	$(BIN)/python -m benchmarks.serve_overhead

api: $(VENV)/.developed build ## 100 generated requests to each operation of the HTTP server; its workers
	SLEUTH_EXPLORE=1 SLEUTH_API_EXAMPLES=100 $(BIN)/python -m pytest -m '' tests/surfaces/http/test_openapi.py
	$(BIN)/python -m pytest -m slow tests/surfaces/http

overflow: $(VENV)/.developed ## the tests over kernels that stop where a signed integer overflows
	rm -rf build/overflow && mkdir -p build/overflow
	git ls-files -z | tar -c --null -T - | tar -x -C build/overflow
	cd build/overflow && CFLAGS="-fsanitize=signed-integer-overflow -fsanitize-undefined-trap-on-error" \
		$(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace
	cd build/overflow && PYTHONPATH=src $(CURDIR)/$(BIN)/python -m pytest -n 2 tests/code tests/compose tests/dense \
		tests/filters tests/lexical tests/store tests/text tests/engine

SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow
SANITIZED = $(filter-out $(addprefix tests/,fuzz/ reference/ __pycache__/),$(wildcard tests/*/)) $(wildcard tests/test_*.py)
CRAFTED := 4000
sanitize: build/sanitize/.built ## 20,000 crafted segments and the whole suite, under AddressSanitizer and UBSan (CRAFTED= of each leg)
	git ls-files -z | tar -c --null -T - | tar -x -C build/sanitize
	cd build/sanitize && SLEUTH_CRAFTED=$(CRAFTED) $(CURDIR)/$(BIN)/python tools/sanitize.py $(SANITIZED)

build/sanitize/.built: $(VENV)/.developed $(KERNELS) setup.py
	rm -rf build/sanitize && mkdir -p build/sanitize
	git ls-files -z | tar -c --null -T - | tar -x -C build/sanitize
	cd build/sanitize && CFLAGS="$(SANITIZE) -O1 -g1 -fno-omit-frame-pointer" LDFLAGS="$(SANITIZE)" \
		$(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

damage: $(VENV)/.developed build ## 1,000 damages to the files of both indexes, and a table of what came of them
	SLEUTH_DAMAGES=1000 $(BIN)/python -m pytest -s tests/faults/test_damage_campaign.py

MUTANTS := 60
mutants: $(VENV)/.developed build ## change the source in small ways, one at a time: faults planted by hand (tools/planted.toml), and MUTANTS= of each of nine packages; a test must fail for each
	$(BIN)/python tools/mutants.py --planted
	$(BIN)/python tools/mutants.py --sample $(MUTANTS)

MINUTES := 60
soak: $(VENV)/.developed build ## four processes add, delete, merge, query and re-open for an hour (MINUTES=): right answers, and nothing grows
	SLEUTH_SOAK=$(MINUTES) $(BIN)/python -m pytest -s -m '' tests/faults/test_soak.py

fuzz: $(VENV)/.developed build ## 50,000 mutated files and sources, each read within stated time and memory
	SLEUTH_FUZZ=1900 $(BIN)/python -m pytest -n 2 tests/fuzz

check: $(VENV)/.developed ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select DOC102 . # docstrings name parameters that exist
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint $(filter %.pyx %.pxd,$(KERNELS))
	$(BIN)/clang-format --dry-run --Werror $(filter %.h,$(KERNELS))

wheel: $(VENV)/.tools ## build a wheel in dist/, install it in a fresh environment, search with it
	@rm -rf build/lib* build/bdist* dist/sleuth-*.whl
	@tools/step "Build the wheel" $(BIN)/python -m pip wheel --no-build-isolation --no-deps --wheel-dir dist .
	@$(BIN)/python tools/check_wheel.py dist/sleuth-*.whl

reference: $(VENV)/.developed build ## write docs/reference (git ignores it), the manual page and the completions, from the code
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/shell_files.py

docs: $(VENV)/.documented reference ## build the site in build/site; a broken link fails
	$(BIN)/python tools/site.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict


build: $(VENV)/.kernels ## recompile changed kernels in place

$(BIN)/python:
	@tools/step "Create $(VENV)" $(PYTHON) -m venv $(VENV)

$(VENV)/.tools: pyproject.toml | $(BIN)/python
	@$(BIN)/python tools/build_requires.py > $(VENV)/build-requires.txt
	@tools/step "Install what compiles: Cython, numpy, setuptools" $(BIN)/python $(INSTALL) -r $(VENV)/build-requires.txt
	@touch $@

$(VENV)/.kernels: $(KERNELS) setup.py | $(VENV)/.tools
	@tools/step "Compile the kernels" flock $(VENV)/build.lock $(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

$(VENV)/.installed: pyproject.toml setup.py | $(VENV)/.kernels
	@tools/step "Install Sleuth and the packages it needs" env $(EDITABLE) '.[hybrid]'
	@touch $@

$(VENV)/.developed: pyproject.toml setup.py | $(VENV)/.kernels
	@tools/step "Install Sleuth and what its tests need" env $(EDITABLE) '.[dev]'
	@touch $@ $(VENV)/.installed

build/formats/.installed:
	@tools/step "Create an environment for the peer" $(PYTHON) -m venv build/formats/venv
	@tools/step "Install markitdown" build/formats/venv/bin/python $(INSTALL) 'markitdown[docx,pptx,xlsx,xls,pdf,outlook]'
	@touch $@

$(VENV)/.documented: pyproject.toml setup.py | $(VENV)/.kernels
	@tools/step "Install Sleuth and what builds the site" env $(EDITABLE) '.[docs,hybrid]'
	@touch $@ $(VENV)/.installed

clean: ## delete what was built and installed
	rm -rf $(VENV) build src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src -name '*.so' -delete -o -name '__pycache__' -prune -exec rm -rf {} +
