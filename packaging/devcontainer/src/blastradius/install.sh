#!/bin/sh
# Run as root while the image is built. The options come as VERSION and AGENT.
set -eu

if ! command -v python3 >/dev/null || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    if ! command -v apt-get >/dev/null; then
        echo "blastradius: python3 with venv is missing, and there is no apt-get to install it" >&2
        exit 1
    fi
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3 python3-venv
    rm -rf /var/lib/apt/lists/*
fi

package=blastradius-guard
case "${VERSION:-latest}" in
latest) ;;
*) package="$package==$VERSION" ;;
esac

# An environment of its own: the image's Python may forbid more.
python3 -m venv /opt/blastradius
/opt/blastradius/bin/pip install --quiet --disable-pip-version-check ${PIP_OPTIONS:-} "$package"
ln -sf /opt/blastradius/bin/blastradius /usr/local/bin/blastradius

mkdir -p /usr/local/share/blastradius
cat >/usr/local/share/blastradius/post-create.sh <<END
#!/bin/sh
# The agent's settings lie in the home of the container's user, who is there only now.
set -eu
agent='${AGENT:-}'
[ -z "\$agent" ] || blastradius install "\$agent" --global
blastradius doctor || true
END
chmod 755 /usr/local/share/blastradius/post-create.sh
