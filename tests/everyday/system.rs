//! The package manager of the system, with packages that are made on the spot.

use crate::ground::{Ground, Need, can};

const NEEDS: &[Need] = &[Need::Program("dpkg-deb"), Need::Program("apt-get"), Need::Guest];

/// Two versions of a package in a repository that the machine is set up with: with scripts that make and remove files of the system, settings, and a file that only the first has.
const PACKAGES: &str = r##"for version in 1 2; do
        mkdir -p tool/DEBIAN tool/usr/bin tool/usr/share/everyday tool/etc; echo "version $version" >tool/usr/share/everyday/version
        echo only >tool/usr/share/everyday/only-$version; echo "setting = $version" >tool/etc/everyday.conf
        printf '#!/bin/sh\ncat /usr/share/everyday/version\n' >tool/usr/bin/everyday; chmod +x tool/usr/bin/everyday
        echo /etc/everyday.conf >tool/DEBIAN/conffiles
        printf '%s\n' 'Package: everyday' "Version: $version" 'Architecture: all' 'Maintainer: t <t@example.invalid>' \
            'Description: a package for a test' >tool/DEBIAN/control
        cat >tool/DEBIAN/preinst <<'SH'
#!/bin/sh
set -e
if [ "$1" = upgrade ]; then rm -rf /var/lib/everyday/cache; fi
SH
        cat >tool/DEBIAN/postinst <<'SH'
#!/bin/sh
set -e
mkdir -p /var/lib/everyday/cache
echo cached >/var/lib/everyday/cache/entry
cat /usr/share/everyday/version >/var/lib/everyday/state.new
mv /var/lib/everyday/state.new /var/lib/everyday/state
echo seen >>/var/log/everyday.log
update-alternatives --install /usr/bin/daily daily /usr/bin/everyday 10
sed -i 's/^setting = .*/& # seen/' /etc/everyday.conf
SH
        cat >tool/DEBIAN/prerm <<'SH'
#!/bin/sh
set -e
if [ "$1" = remove ]; then update-alternatives --remove daily /usr/bin/everyday; fi
SH
        cat >tool/DEBIAN/postrm <<'SH'
#!/bin/sh
set -e
if [ "$1" = remove ]; then rm -rf /var/lib/everyday /var/log/everyday.log; fi
SH
        chmod 755 tool/DEBIAN/p*; dpkg-deb --root-owner-group --build tool everyday_${version}_all.deb; rm -r tool
    done
    mkdir -p /srv/repository; mv everyday_*.deb /srv/repository; cd /srv/repository
    for deb in *.deb; do
        dpkg-deb --field $deb; echo "Filename: ./$deb"; echo "Size: $(stat -c %s $deb)"; echo "SHA256: $(sha256sum <$deb | cut -d' ' -f1)"; echo
    done >Packages
    echo 'deb [trusted=yes] file:/srv/repository ./' >/etc/apt/sources.list; apt-get -qq update"##;

/// apt, with nobody to answer it.
const APT: &str = "export DEBIAN_FRONTEND=noninteractive
    apt='apt-get -qq --yes -o Dpkg::Options::=--force-confnew'";

#[test]
fn apt_installs_and_upgrades_a_package() {
    if !can(NEEDS) {
        return;
    }
    let ground = Ground::new();
    ground.before(PACKAGES);
    ground.before(&format!("{APT}; $apt install everyday=1; daily | grep -x 'version 1'"));
    // The first version was there before the session: nothing of it is born in it.
    ground.undisturbed(&format!(
        "{APT}; $apt update; $apt install everyday; daily | grep -x 'version 2'; [ ! -e /usr/share/everyday/only-1 ]
         grep -x 'setting = 2 # seen' /etc/everyday.conf; grep -x 'version 2' /var/lib/everyday/state
         $apt install --reinstall everyday; $apt install --allow-downgrades everyday=1; daily | grep -x 'version 1'
         $apt upgrade; daily | grep -x 'version 2'; $apt clean; [ ! -e /usr/share/everyday/only-1 ]"
    ));
}

#[test]
fn what_apt_may_do_to_the_system_nobody_else_may() {
    if !can(NEEDS) {
        return;
    }
    let ground = Ground::new();
    ground.refused("rm /usr/share/doc/apt/copyright");
}
