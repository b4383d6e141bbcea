# For scripts that work in the root of a Debian release, made by debootstrap; to be sourced. Such a script runs as root, in
# a mount namespace of its own, so that every mount ends with it.
#
# FANFARE_ROOTS is the folder of the roots, FANFARE_MIRROR the Debian mirror.
roots=${FANFARE_ROOTS:-/var/tmp/fanfare-roots}
mirror=${FANFARE_MIRROR:-http://deb.debian.org/debian}

say() { printf '%s\n' "$*" >&2; }

# own_namespace "$0" "$@": starts the script again in a mount namespace of its own.
own_namespace() {
    [ "$(id -u)" = 0 ] || { say "run this as root"; exit 1; }
    [ -n "${FANFARE_NAMESPACE:-}" ] || FANFARE_NAMESPACE=1 exec unshare --mount --propagation private "$@"
}

# make_base RELEASE: an unchanged root of the release, made once; prints its folder.
make_base() {
    local folder=$roots/$1-base
    if [ ! -e "$folder/.complete" ]; then
        command -v debootstrap >/dev/null || { say "debootstrap is missing: apt-get install debootstrap"; exit 1; }
        rm -rf "$folder"
        mkdir -p "$folder"
        debootstrap --variant=minbase "$1" "$folder" "$mirror" >&2
        # Installing a package starts no service here.
        printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
        chmod 755 "$folder/usr/sbin/policy-rc.d"
        touch "$folder/.complete"
    fi
    echo "$folder"
}

# mount_root FOLDER: what programs in the root expect of the kernel.
mount_root() {
    mountpoint -q "$1/proc" && return
    # A mount point, so that programs in the root can make mount namespaces of their own.
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    cp -L /etc/resolv.conf "$1/etc/resolv.conf"
}

# mount_toolchain FOLDER: the Swift toolchain and the package mirrors that git is configured with, both read-only.
mount_toolchain() {
    local swift key value place
    swift=$(dirname "$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")")
    local places=("$swift")
    : >"$1/root/.gitconfig"
    while read -r key value; do
        git config --file "$1/root/.gitconfig" --add "$key" "$value"
        place=${key#url.}
        place=${place%.insteadof}
        [ ! -d "$place" ] || places+=("${place%/}")
    done < <(git config --get-regexp '^url\..*\.insteadof$' || true)
    git config --file "$1/root/.gitconfig" safe.directory '*'
    for place in "${places[@]}"; do
        mkdir -p "$1$place"
        mount --bind "$place" "$1$place"
        mount -o remount,ro,bind "$1$place"
    done
    toolchain_path=$swift/usr/bin
}

# copy_sources FOLDER: the tracked files of this tree, as they are, to /source of the root. A file that did not change stays
# the same file, so that the next build there compiles only what did.
copy_sources() {
    local file
    mkdir -p "$1/source"
    (cd "$1/source" && find . -name '.build*' -prune -o -name .git -prune -o -type f -print0) |
        while IFS= read -r -d '' file; do [ -e "$file" ] || rm -f "$1/source/$file"; done
    # By content: a file of another checkout may be younger.
    { git ls-files -z --deduplicate && printf 'Package.resolved\0'; } |
        while IFS= read -r -d '' file; do
            [ ! -e "$file" ] || cmp -s "$file" "$1/source/$file" || printf '%s\0' "$file"
        done | xargs -0 -r cp --parents --preserve=mode,links -t "$1/source"
}

# in_root FOLDER COMMAND [ARGUMENT...]: runs a program there, without this shell's environment.
in_root() {
    local folder=$1
    shift
    chroot "$folder" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        PATH="${toolchain_path:+$toolchain_path:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
        ${SOURCE_DATE_EPOCH:+SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH} FANFARE_SOURCE="${FANFARE_SOURCE:-}" \
        DEBEMAIL="${DEBEMAIL:-}" DEBFULLNAME="${DEBFULLNAME:-}" "$@" </dev/null
}
