#!/usr/bin/env bash
# Installs what flagraft is measured beside: bench/compare/install.sh DIRECTORY. What is
# there already stays. Unleash Edge is compiled: about 20 minutes on two cores.
set -euo pipefail
mkdir -p "${1:?a directory}"
cd "$1"
edge=19.15.1 swagger=5.17.14 # Edge's build asks for this version of Swagger UI
engine=10.2.0 client=8.1.2   # the Python engine; the Node client has the Node engine in it

[[ -x python/bin/python ]] || python3 -m venv python
python/bin/pip install -q --disable-pip-version-check "flagsmith-flag-engine==$engine"

npm install --prefix node --no-package-lock --no-audit --no-fund --loglevel error "flagsmith-nodejs@$client"

if [[ $(cat edge/version 2>/dev/null) != "$edge" ]]; then
  # The build would fetch Swagger UI from elsewhere: it gets a zip of the same files from npm.
  rm -rf swagger && mkdir -p "swagger/swagger-ui-$swagger/dist"
  (cd swagger && npm pack --silent "swagger-ui-dist@$swagger")
  tar -xzf "swagger/swagger-ui-dist-$swagger.tgz" -C "swagger/swagger-ui-$swagger/dist" --strip-components 1
  (cd swagger && python3 -m zipfile -c swagger-ui.zip "swagger-ui-$swagger")
  SWAGGER_UI_DOWNLOAD_URL=file://$PWD/swagger/swagger-ui.zip CARGO_TARGET_DIR=$PWD/target \
    cargo install --locked --root edge "unleash-edge@$edge"
  echo "$edge" >edge/version # it cannot say so itself
  rm -rf target
fi
