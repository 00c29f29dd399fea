#!/usr/bin/env bash
# Installs a deb on an overlay of this system, starts what was installed as its own user with its own configuration, installs it again and removes it.
# Usage, in network, mount and process namespaces of its own: install.sh FLAGRAFT.deb DIRECTORY
set -euo pipefail
deb=$1 dir=$2
mkdir -p "$dir"
mount -t tmpfs tmpfs "$dir"
mkdir -p "$dir/upper" "$dir/work" "$dir/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/root" || { echo "no overlay file system here: skipped"; exit 0; }
mount -t proc proc "$dir/root/proc"
mount --bind /dev "$dir/root/dev"
mount -t tmpfs tmpfs "$dir/root/run"
ip link set lo up
cp "$deb" "$dir/root/flagraft.deb"
inside=(chroot "$dir/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin)

"${inside[@]}" dpkg -i /flagraft.deb >"$dir/dpkg.log" 2>&1 || { cat "$dir/dpkg.log"; exit 1; }
"${inside[@]}" getent passwd flagraft
[[ $("${inside[@]}" stat -c '%a %U:%G' /var/lib/flagraft /etc/flagraft /etc/flagraft/flagraft.yaml | tr '\n' ' ') == "700 flagraft:flagraft 750 root:flagraft 640 root:flagraft " ]] || {
  "${inside[@]}" ls -ld /var/lib/flagraft /etc/flagraft /etc/flagraft/flagraft.yaml
  exit 1
}

"${inside[@]}" setpriv --reuid=flagraft --regid=flagraft --clear-groups --no-new-privs --bounding-set=-all /usr/bin/flagraft serve --config /etc/flagraft/flagraft.yaml >"$dir/serve.log" 2>&1 &
pid=$!
for ((i = 0; i < 300; i++)); do
  "${inside[@]}" flagraft health >/dev/null 2>&1 && break
  kill -0 $pid 2>/dev/null || break
  sleep 0.2
done
"${inside[@]}" flagraft health >/dev/null || { cat "$dir/serve.log"; exit 1; }
kill $pid
wait $pid

# An upgrade keeps the configuration, a removal the data.
echo 'log-level: debug' >>"$dir/root/etc/flagraft/flagraft.yaml"
"${inside[@]}" dpkg -i /flagraft.deb >"$dir/dpkg.log" 2>&1
grep -q '^log-level: debug' "$dir/root/etc/flagraft/flagraft.yaml"
"${inside[@]}" dpkg -r flagraft >"$dir/dpkg.log" 2>&1
[[ ! -e $dir/root/usr/bin/flagraft && -n $(ls "$dir/root/var/lib/flagraft") ]]
echo "installed, started, upgraded, removed"
