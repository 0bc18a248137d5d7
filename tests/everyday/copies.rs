//! Programs that copy over and into what is there: tar, rsync, make.

use crate::ground::{Ground, Need, can};

/// Directories that differ, and an archive of the one.
const TREES: &str = "mkdir -p new/sub old/sub old/gone build; echo new >new/sub/file; echo new >new/top
    echo old >old/sub/file; echo old >old/gone/file; echo old >old/top; touch -d 2001-01-01 old/top old/sub/file
    tar -cf build/new.tar -C new sub top";

#[test]
fn tar_unpacks_over_the_project_in_every_way() {
    let ground = Ground::new();
    ground.before(TREES);
    ground.undisturbed(
        "for how in --overwrite --unlink-first --recursive-unlink --overwrite-dir --keep-newer-files; do
             cp -rp old to$how; tar -xf build/new.tar $how -C to$how top sub/file; [ \"$(cat to$how/top)\" = new ]
         done
         tar -xf build/new.tar -C old; [ \"$(cat old/sub/file)\" = new ]; tar -czf build/again.tar.gz --remove-files new; [ ! -e new ]",
    );
}

#[test]
fn rsync_mirrors_into_the_project() {
    if !can(&[Need::Program("rsync")]) {
        return;
    }
    let ground = Ground::new();
    ground.before(TREES);
    ground.undisturbed(
        "rsync -a --delete new/ old/; diff -r new old
         rsync -a ~/Documents/ build/letters/; rsync -a --delete-before --inplace new/ build/letters/; diff -r new build/letters
         rsync -a --remove-source-files new/ build/moved/; [ ! -e new/top ]",
    );
}

#[test]
fn make_builds_and_cleans() {
    if !can(&[Need::Program("make"), Need::Program("cc")]) {
        return;
    }
    let ground = Ground::new();
    ground.write("project/main.c", "int main(void) { return 0; }\n");
    ground.write(
        "project/Makefile",
        "DESTDIR = stage\nbuild/main: build/main.o\n\tcc -o $@ $<\nbuild/%.o: %.c\n\tmkdir -p build\n\tcc -c -o $@ $<\n\
         install: build/main\n\tinstall -D build/main $(DESTDIR)/usr/bin/main\n\
         clean:\n\t$(RM) build/*.o\n\t$(RM) -r build\n.PHONY: clean install\n",
    );
    ground.before("make -s install");
    ground.undisturbed(
        "touch main.c; make -s; make -s install; make -s clean; [ ! -e build ]; make -s; build/main; make -s clean; rm -r stage",
    );
}

#[test]
fn tar_does_not_unpack_over_letters() {
    let ground = Ground::new();
    ground.before("mkdir -p new build; echo lost >new/letter; tar -cf build/new.tar -C new letter");
    for how in ["", "--overwrite", "--unlink-first"] {
        ground.refused(&format!("tar -xf build/new.tar {how} -C ~/Documents"));
    }
}

#[test]
fn rsync_does_not_mirror_into_letters() {
    if !can(&[Need::Program("rsync")]) {
        return;
    }
    let ground = Ground::new();
    ground.before(TREES);
    ground.refused("rsync -a --delete new/ ~/Documents/");
}
