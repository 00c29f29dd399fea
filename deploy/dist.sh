#!/usr/bin/env bash
# What a release consists of: static binaries, deb and rpm, the chart, an SBOM for each binary, checksums. The same commit gives the same bytes.
# Usage: deploy/dist.sh OUT NFPM [GOOS/GOARCH...]
set -euo pipefail
out=$1 nfpm=$2
shift 2
targets=("${@:-linux/amd64}")
version=$(git describe --tags --always --dirty 2>/dev/null || echo dev)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0
# Packages need a version that begins with a digit and sorts: 1.2.3-rc1 before 1.2.3 before 1.2.3-4-gabc. Without a tag, the date of the commit.
package_version=$(sed -E 's/^v//; s/-([0-9]+)-g/+\1.g/; s/-dirty$/+dirty/; s/-/~/g' <<<"$version")
[[ $package_version =~ ^[0-9]+\.[0-9]+ ]] || package_version=0.0.0~$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$package_version

rm -rf "$out"
mkdir -p "$out"
build() { # build GOOS GOARCH FILE
  GOOS=$1 GOARCH=$2 go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$3" ./cmd/flagraft
}
archive() { # archive DIRECTORY NAME: to standard output
  tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX -cf - "$2" | gzip -9n
}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# Completions and man pages are printed by the binary itself.
build "$(go env GOOS)" "$(go env GOARCH)" "$stage/host"
mkdir -p "$stage/completions" "$stage/man"
"$stage/host" completion bash >"$stage/completions/flagraft.bash"
"$stage/host" completion zsh >"$stage/completions/_flagraft"
"$stage/host" completion fish >"$stage/completions/flagraft.fish"
"$stage/host" man "$stage/man"
gzip -9n "$stage"/man/*

for target in "${targets[@]}"; do
  os=${target%/*} arch=${target#*/} exe=
  [[ $os == windows ]] && exe=.exe
  name=flagraft_${version}_${os}_${arch}
  tree=$stage/$name
  mkdir -p "$tree"
  build "$os" "$arch" "$tree/flagraft$exe"
  go run ./deploy/sbom "$tree/flagraft$exe" >"$out/$name.cdx.json"
  cp LICENSE README.md "$tree/"
  cp -R "$stage/completions" "$stage/man" "$tree/"
  [[ $os != linux ]] || cp -R deploy/systemd "$tree/"
  archive "$stage" "$name" >"$out/$name.tar.gz"
  if [[ $os == linux ]]; then
    cp "$tree/flagraft" "$stage/flagraft"
    cp "$out/$name.cdx.json" "$stage/flagraft.cdx.json"
    for kind in deb rpm; do
      VERSION=$package_version ARCH=$arch STAGE=$stage "$nfpm" package -f deploy/packages/nfpm.yaml -p "$kind" -t "$out/" >/dev/null
    done
  fi
done
# Not helm package, which puts the time of day into it.
cp -R deploy/helm "$stage/"
rm -rf "$stage/helm/flagraft/ci"
sed -i "s/^appVersion: .*/appVersion: \"$version\"/" "$stage/helm/flagraft/Chart.yaml"
archive "$stage/helm" flagraft >"$out/flagraft-chart-$version.tgz"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
