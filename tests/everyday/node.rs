//! npm, with packages that are made on the spot.

use crate::ground::{Ground, Need, can};

/// Two packages in two versions each, packed, with a command in the one and a script that runs on installation in the other.
const PACKAGES: &str = r##"mkdir -p vendor
    for version in 1.0.0 2.0.0; do for name in left right; do
        mkdir -p parts/$name; echo "module.exports = '$name $version'" >parts/$name/index.js; echo $version >parts/$name/only-$version
        echo "#!/usr/bin/env node
console.log(require('./index.js'))" >parts/$name/cli.js
        echo "{ \"name\": \"$name\", \"version\": \"$version\", \"bin\": { \"$name\": \"cli.js\" },
                \"scripts\": { \"postinstall\": \"echo made >built-$version\" } }" >parts/$name/package.json
        (cd vendor; npm pack --silent ../parts/$name); rm -rf parts
    done; done
    echo '{ "name": "project", "version": "1.0.0", "private": true }' >package.json"##;

#[test]
fn npm_installs_installs_cleanly_upgrades_and_prunes() {
    if !can(&[Need::Program("npm")]) {
        return;
    }
    let ground = Ground::new();
    ground.before(PACKAGES);
    // A tree and a cache that were there before the session.
    ground.before(
        "npm install --offline --no-audit --no-fund ./vendor/left-1.0.0.tgz ./vendor/right-1.0.0.tgz",
    );
    ground.undisturbed(
        "npm='npm --offline --no-audit --no-fund'
         $npm ci; node_modules/.bin/left | grep -x 'left 1.0.0'
         $npm install ./vendor/left-2.0.0.tgz; node_modules/.bin/left | grep -x 'left 2.0.0'; [ ! -e node_modules/left/only-1.0.0 ]
         $npm uninstall right; [ ! -e node_modules/right ]
         mkdir node_modules/stray; echo '{ \"name\": \"stray\", \"version\": \"1.0.0\" }' >node_modules/stray/package.json
         $npm prune; [ ! -e node_modules/stray ]
         rm -rf node_modules; $npm ci; $npm rebuild; $npm exec left | grep -x 'left 2.0.0'; npm cache clean --force",
    );
    assert!(ground.read("project/package-lock.json").contains("left-2.0.0.tgz"));
}

#[test]
fn npm_installs_upgrades_and_removes_for_the_whole_machine() {
    if !can(&[Need::Program("npm"), Need::Guest]) {
        return;
    }
    let ground = Ground::new();
    ground.before(PACKAGES);
    ground.before("npm install --global --offline --no-audit --no-fund ./vendor/left-1.0.0.tgz");
    ground.undisturbed(
        "npm='npm --global --offline --no-audit --no-fund'
         $npm install ./vendor/right-1.0.0.tgz; right | grep -x 'right 1.0.0'
         $npm install ./vendor/left-2.0.0.tgz; left | grep -x 'left 2.0.0'
         $npm uninstall left right; [ ! -e /usr/local/bin/left ]; [ ! -e /usr/local/bin/right ]",
    );
}
