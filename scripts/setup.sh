# Shared by the scripts beside it, which source it: messages, and the packages that are missing.
# shellcheck shell=bash

unset CDPATH # with it cd prints, and may go elsewhere
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export LC_ALL=C.UTF-8

# Packages for building the library and the command.
# shellcheck disable=SC2034 # used by the scripts that source this
build_packages=(gcc libc6-dev meson ninja-build pkg-config libsleef-dev)

apt_log=build-setup/apt.log

say() { printf '\n==> %s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*"; }

# Sets $missing to those of the given packages that are not installed; "name" means this machine's architecture.
find_missing() {
    local native installed package name
    native=$(dpkg --print-architecture)
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}:${Architecture}\n' | sed -n 's/^installed //p')
    missing=()
    for package in "$@"; do
        name=${package%:*}
        [ "$name" = "$package" ] && package=$name:$native
        grep -qxF -e "$package" -e "$name:all" <<<"$installed" || missing+=("${package%":$native"}")
    done
}

may_install() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# apt with its long output in a file; Ubuntu's own upgrades may hold the lock for a while.
apt_get() {
    mkdir -p "${apt_log%/*}"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null >>"$apt_log" 2>&1
}

# A mirror that is just syncing makes the refresh fail, while the packages can often be had all the same.
refresh_index() {
    apt_get update || warn "apt-get update failed (see $apt_log); going on with the package index that is there"
}

# Packages that apt would remove to install $missing. Some cross compilers conflict with gcc-multilib.
would_be_removed() { apt-get -s --no-install-recommends install "${missing[@]}" 2>/dev/null | sed -n 's/^Remv \([^ ]*\).*/\1/p'; }

install_missing() { apt_get install --no-remove --no-install-recommends "${missing[@]}"; }

# Installs $missing and removes nothing, or sets $apt_error to the reason why not, and prints it. A second try gets over an
# index that changed in between, but over no conflict.
apt_install() {
    local conflicts
    say "installing: ${missing[*]}"
    refresh_index
    mapfile -t conflicts < <(would_be_removed)
    if [ ${#conflicts[@]} != 0 ]; then
        apt_error="installing ${missing[*]} would remove ${conflicts[*]}: nothing was changed, and trying again does not help;"
        apt_error+=" remove these yourself if you do not need them"
        echo "error: $apt_error"
        return 1
    fi
    install_missing && return
    warn "the installation failed; trying once more in 15 seconds"
    sleep 15
    refresh_index
    install_missing && return
    tail -n 15 "$apt_log"
    apt_error="these packages could not be installed: ${missing[*]} (log: $apt_log)"
    echo "error: $apt_error"
    return 1
}

# Installs what is missing of the given packages. Where that is not allowed it names the command to run, and fails.
need_packages() {
    if ! command -v dpkg-query >/dev/null; then
        warn "not a Debian or Ubuntu system: nothing is installed here; docs/building.md lists what is needed"
        return 0
    fi
    find_missing "$@"
    if [ ${#missing[@]} = 0 ]; then
        return 0
    elif may_install; then
        apt_install
    else
        printf 'Some packages are missing, and this user may not install them. Run this, then start again:\n\n'
        printf '    sudo apt-get install --no-install-recommends %s\n\n' "${missing[*]}"
        return 1
    fi
}

# configure DIRECTORY OPTION...: meson setup, for a directory that is new or not.
configure() {
    local directory=$1
    shift
    [ -f "$directory/build.ninja" ] && set -- --reconfigure "$@"
    meson setup "$directory" "$@" </dev/null
}
