//! File systems, partition tables, volumes, arrays and encryption headers.
//!
//! Where a program is handed the device itself, that operand is told as `Act::Device`: on a block device it is fatal,
//! on an image file in scope it is an ordinary overwrite. Where it is handed a name (`vg0/home`, `tank`), the storage
//! stack itself loses something.

use blastradius_common::{RuleId, Verdict};

use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::{self, Row, Tool, Words, harmless, row, word};
use crate::programs::{Call, Machine, Program, acts};
use crate::shell::value::Field;

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("mkfs", mkfs),
    ("mke2fs", mkfs),
    ("mkfs.ext2", mkfs),
    ("mkfs.ext3", mkfs),
    ("mkfs.ext4", mkfs),
    ("mkfs.xfs", mkfs),
    ("mkfs.btrfs", mkfs),
    ("mkfs.vfat", mkfs),
    ("mkfs.fat", mkfs),
    ("mkfs.msdos", mkfs),
    ("mkdosfs", mkfs),
    ("mkfs.ntfs", mkfs),
    ("mkntfs", mkfs),
    ("mkfs.exfat", mkfs),
    ("mkfs.f2fs", mkfs),
    ("mkfs.minix", mkfs),
    ("mkfs.bfs", mkfs),
    ("mkfs.jfs", mkfs),
    ("mkfs.nilfs2", mkfs),
    ("mkfs.reiserfs", mkfs),
    ("mkfs.udf", mkfs),
    ("mkfs.hfsplus", mkfs),
    ("mkfs.gfs2", mkfs),
    ("mkfs.ocfs2", mkfs),
    ("mkfs.bcachefs", mkfs),
    ("mkswap", mkfs),
    ("newfs", mkfs),
    ("newfs_apfs", mkfs),
    ("newfs_hfs", mkfs),
    ("newfs_msdos", mkfs),
    ("newfs_exfat", mkfs),
    ("wipefs", writer),
    ("fdisk", writer),
    ("cfdisk", writer),
    ("sfdisk", writer),
    ("gdisk", writer),
    ("cgdisk", writer),
    ("sgdisk", writer),
    ("parted", parted),
    ("blkdiscard", writer),
    ("badblocks", badblocks),
    ("hdparm", hdparm),
    ("debugfs", writer),
    ("sg_format", writer),
    ("sg_sanitize", writer),
    ("nwipe", writer),
    ("flash_erase", writer),
    ("flash_eraseall", writer),
    ("mkudffs", mkfs),
    ("cryptsetup", cryptsetup),
    ("mdadm", mdadm),
    ("lvremove", lvm),
    ("vgremove", lvm),
    ("pvremove", lvm),
    ("lvreduce", lvm),
    ("vgreduce", lvm),
    ("lvconvert", lvm),
    ("pvcreate", lvm),
    ("lvm", lvm),
    ("btrfs", btrfs),
    ("zfs", verb),
    ("zpool", verb),
    ("dmsetup", verb),
    ("nvme", verb),
    ("bcachefs", verb),
    ("diskutil", verb),
    ("asr", verb),
    ("gpt", verb),
    ("wsl", verb),
    ("flashrom", flashrom),
];

/// A program that makes a file system: its options, and those that make it only say what it would do.
struct Maker {
    names: &'static [&'static str],
    grammar: Grammar,
    dry: &'static [&'static str],
}

/// mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.fat(8), mkntfs(8), mkfs.exfat(8), mkfs.f2fs(8), mkswap(8).
static MAKERS: &[Maker] = &[
    Maker {
        names: &["mke2fs", "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "ext2", "ext3", "ext4", ""],
        grammar: Grammar::new(&[value("bCdDeEgGiIJlLmMNoOrtTUz", ""), flag("cFjqSVvKk", ""), flag("n", "")]),
        dry: &["n"],
    },
    Maker {
        names: &["mkfs.xfs", "xfs"],
        grammar: Grammar::new(&[value("bcdmilnsLpr", ""), flag("fqKV", ""), flag("N", "")]),
        dry: &["N"],
    },
    Maker {
        names: &["mkfs.btrfs", "btrfs"],
        grammar: Grammar::new(&[
            value("A", "alloc-start"),
            value("b", "byte-count"),
            value("", "csum|checksum"),
            value("d", "data"),
            value("m", "metadata"),
            value("l", "leafsize"),
            value("n", "nodesize"),
            value("s", "sectorsize"),
            value("L", "label"),
            value("r", "rootdir"),
            value("O", "features"),
            value("R", "runtime-features"),
            value("U", "uuid"),
            flag("fKMqvV", ""),
        ]),
        dry: &[],
    },
    Maker {
        names: &["mkfs.vfat", "mkfs.fat", "mkfs.msdos", "mkdosfs", "vfat", "fat", "msdos"],
        grammar: Grammar::new(&[value("bDFfghilMmnNRrsS", ""), flag("aAcCIv", "")]),
        dry: &[],
    },
    Maker {
        names: &["mkfs.ntfs", "mkntfs", "ntfs"],
        grammar: Grammar::new(&[
            value("c", "cluster-size"),
            value("H", "heads"),
            value("L", "label"),
            value("p", "partition-start"),
            value("s", "sector-size"),
            value("S", "sectors-per-track"),
            value("z", "mft-zone-multiplier"),
            flag("fQ", "fast|quick"),
            flag("n", "no-action"),
            flag("CFIqTUv", ""),
        ]),
        dry: &["n"],
    },
    Maker {
        names: &["mkfs.exfat", "exfat"],
        grammar: Grammar::new(&[value("nLcbspiU", ""), flag("fvVCq", "")]),
        dry: &[],
    },
    Maker {
        names: &["mkfs.f2fs", "f2fs"],
        grammar: Grammar::new(&[value("acCdeEgilmoORstTUwzZ", ""), flag("fqrSVh", "")]),
        dry: &[],
    },
    Maker {
        names: &["mkswap"],
        grammar: Grammar::new(&[
            value("p", "pagesize"),
            value("L", "label"),
            value("v", "swapversion"),
            value("U", "uuid"),
            value("e", "endianness"),
            value("o", "offset"),
            value("s", "size"),
            flag("cfqF", ""),
        ]),
        dry: &[],
    },
    Maker {
        names: &["newfs", "newfs_apfs", "newfs_hfs", "newfs_msdos", "newfs_exfat"],
        grammar: Grammar::new(&[value("vbciUGMnabefgmosuFhSO", ""), flag("sRDEAPJ", ""), flag("N", "")]),
        dry: &["N"],
    },
];

/// What every maker that is not in the table is read as: only operands that look like files are its targets.
static OTHER_MAKER: Maker =
    Maker { names: &[], grammar: Grammar::new(&[value("tLUbn", ""), flag("fqvV", "")]), dry: &[] };

/// mkfs(8): `mkfs [-t TYPE] [OPTIONS] DEVICE [SIZE]`, or the program of one type by its own name.
fn mkfs(call: &Call<'_>, machine: &mut dyn Machine) {
    let (kind, args) =
        if call.name == "mkfs" { split_type(call.args) } else { (call.name.to_owned(), call.args.to_vec()) };
    let maker = MAKERS.iter().find(|maker| maker.names.contains(&&*kind)).unwrap_or(&OTHER_MAKER);
    let parsed = maker.grammar.read(&args);
    if parsed.informs() || parsed.has_any(maker.dry) {
        return;
    }
    for operand in parsed.operands.iter().filter(|operand| !is_size(operand)) {
        acts::overwrite(machine, operand);
    }
}

/// Takes `-t TYPE` and the front end's own switches away from what the program of that type is handed.
fn split_type(args: &[Field]) -> (String, Vec<Field>) {
    let mut kind = String::new();
    let mut rest = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match &*word(arg) {
            "-t" | "--type" => kind = args.next().map(|next| word(next).into_owned()).unwrap_or_default(),
            "-V" | "--verbose" => {}
            known if known.starts_with("--type=") => kind = known["--type=".len()..].to_owned(),
            _ => rest.push(arg.clone()),
        }
    }
    (kind, rest)
}

/// `SIZE` behind a device: digits with a unit.
fn is_size(operand: &Field) -> bool {
    let known = word(operand);
    known.starts_with(|first: char| first.is_ascii_digit()) && !known.contains('/') && !known.contains('.')
}

/// A program that writes to the devices it is handed.
struct Writer {
    name: &'static str,
    grammar: Grammar,
    /// It writes only with one of these; empty: always.
    writes_with: &'static [&'static str],
    /// With these it reads, prints or pretends.
    reads_with: &'static [&'static str],
}

static WRITERS: &[Writer] = &[
    // wipefs(8): without -a or -o it lists signatures.
    Writer {
        name: "wipefs",
        grammar: Grammar::new(&[
            flag("a", "all"),
            optional("b", "backup"),
            flag("f", "force"),
            flag("i", "noheadings"),
            flag("J", "json"),
            flag("n", "no-act"),
            value("o", "offset"),
            value("O", "output"),
            flag("p", "parsable"),
            flag("q", "quiet"),
            value("t", "types"),
            optional("", "lock"),
        ]),
        writes_with: &["all", "offset"],
        reads_with: &["no-act"],
    },
    Writer {
        name: "fdisk",
        grammar: Grammar::new(&[
            value("b", "sector-size"),
            value("C", "cylinders"),
            value("H", "heads"),
            value("S", "sectors"),
            value("o", "output"),
            value("t", "type"),
            value("w", "wipe"),
            value("W", "wipe-partitions"),
            optional("c", "compatibility"),
            optional("u", "units"),
            optional("L", "color"),
            flag("l", "list"),
            flag("x", "list-details"),
            flag("s", "getsz"),
            flag("B", "protect-boot"),
            flag("n", "noauto-pt"),
            flag("V", "version"),
        ]),
        writes_with: &[],
        reads_with: &["list", "list-details", "getsz"],
    },
    Writer {
        name: "cfdisk",
        grammar: Grammar::new(&[
            flag("r", "read-only"),
            flag("z", "zero"),
            optional("L", "color"),
            value("b", "sector-size"),
        ]),
        writes_with: &[],
        reads_with: &["read-only"],
    },
    Writer {
        name: "sfdisk",
        grammar: Grammar::new(&[
            flag("A", "activate"),
            flag("d", "dump"),
            flag("J", "json"),
            flag("g", "show-geometry"),
            flag("l", "list"),
            flag("F", "list-free"),
            flag("r", "reorder"),
            flag("s", "show-size"),
            flag("T", "list-types"),
            flag("V", "verify"),
            flag("n", "no-act"),
            flag("", "delete"),
            flag("fabBq", "force|append|backup|backup-pt-sectors|quiet"),
            flag("", "no-reread|no-tell-kernel|relocate"),
            value("N", "partno"),
            value("O", "backup-file"),
            value("o", "output"),
            value("X", "label"),
            value("Y", "label-nested"),
            value("w", "wipe"),
            value("W", "wipe-partitions"),
            optional("", "move-data"),
            optional("", "color"),
            optional("", "lock"),
        ]),
        writes_with: &[],
        reads_with: &[
            "dump",
            "json",
            "show-geometry",
            "list",
            "list-free",
            "show-size",
            "list-types",
            "verify",
            "no-act",
        ],
    },
    Writer {
        name: "nwipe",
        grammar: Grammar::new(&[
            value("lmrp", "logfile|method|rounds|prng|verify|exclude|PDFreportpath"),
            flag("vh", "autonuke|nogui|nousb|nowait|quiet|sync|noblank|autopoweroff"),
        ]),
        writes_with: &[],
        reads_with: &[],
    },
    // flash_erase(1): `MTD-device START COUNT`.
    Writer {
        name: "flash_erase",
        grammar: Grammar::new(&[flag("jNuqn", "jffs2|noskipbad|unlock|quiet|silent|noremove")]),
        writes_with: &[],
        reads_with: &[],
    },
    Writer {
        name: "flash_eraseall",
        grammar: Grammar::new(&[flag("jq", "jffs2|quiet|silent")]),
        writes_with: &[],
        reads_with: &[],
    },
    Writer { name: "gdisk", grammar: Grammar::new(&[flag("l", "")]), writes_with: &[], reads_with: &["l"] },
    Writer { name: "cgdisk", grammar: Grammar::new(&[flag("a", "")]), writes_with: &[], reads_with: &[] },
    // sgdisk(8): what it prints and what it saves is all that is harmless.
    Writer {
        name: "sgdisk",
        grammar: Grammar::new(&[
            flag("p", "print"),
            value("i", "info"),
            flag("v", "verify"),
            flag("L", "list-types"),
            flag("O", "print-mbr"),
            flag("P", "pretend"),
            flag("EFfD", "end-of-largest|first-in-largest|first-aligned-in-largest|display-alignment"),
            value("b", "backup"),
            value("a", "set-alignment"),
            flag("Z", "zap-all"),
            flag("z", "zap"),
            flag("o", "clear"),
            flag("g", "mbrtogpt"),
            flag("G", "randomize-guids"),
            flag("s", "sort"),
            flag("e", "move-second-header"),
            value("n", "new"),
            value("N", "largest-new"),
            value("d", "delete"),
            value("t", "typecode"),
            value("c", "change-name"),
            value("u", "partition-guid"),
            value("U", "disk-guid"),
            value("A", "attributes"),
            value("h", "hybrid"),
            value("l", "load-backup"),
            value("m", "gpttombr"),
            value("r", "transpose"),
            value("R", "replicate"),
            value("S", "resize-table"),
        ]),
        writes_with: &[
            "Z", "z", "o", "g", "G", "s", "e", "n", "N", "d", "t", "c", "u", "U", "A", "h", "l", "m", "r",
            "R", "S",
        ],
        reads_with: &["pretend"],
    },
    Writer {
        name: "blkdiscard",
        grammar: Grammar::new(&[
            flag("f", "force"),
            flag("q", "quiet"),
            flag("s", "secure"),
            flag("v", "verbose"),
            flag("z", "zeroout"),
            value("o", "offset"),
            value("l", "length"),
            value("p", "step"),
        ]),
        writes_with: &[],
        reads_with: &[],
    },
    // debugfs(8): -w opens the file system for writing.
    Writer {
        name: "debugfs",
        grammar: Grammar::new(&[value("bdfRsVz", ""), flag("ciDn", ""), flag("w", "")]),
        writes_with: &["w"],
        reads_with: &[],
    },
    Writer {
        name: "sg_format",
        grammar: Grammar::new(&[
            flag("F", "format"),
            value("s", "size"),
            value("c", "count"),
            flag("d", "dry-run"),
        ]),
        writes_with: &["format", "size", "count"],
        reads_with: &["dry-run"],
    },
    Writer {
        name: "sg_sanitize",
        grammar: Grammar::new(&[
            flag("B", "block"),
            flag("C", "crypto"),
            flag("O", "overwrite"),
            flag("QwveFIpr", "quick|wait|verbose|early|fail"),
            flag("d", "dry-run"),
        ]),
        writes_with: &["block", "crypto", "overwrite"],
        reads_with: &["dry-run"],
    },
];

/// A [`Writer`]: each operand is written as a device.
fn writer(call: &Call<'_>, machine: &mut dyn Machine) {
    let Some(writer) = WRITERS.iter().find(|writer| writer.name == call.name) else { return };
    let parsed = writer.grammar.read(call.args);
    let writes = writer.writes_with.is_empty() || parsed.has_any(writer.writes_with);
    if parsed.informs() || !writes || parsed.has_any(writer.reads_with) {
        return;
    }
    // Numbers behind a device say where and how much.
    for operand in parsed.operands.iter().filter(|operand| !is_size(operand)) {
        acts::overwrite(machine, operand);
    }
}

/// Commands of parted(8) that change a disk. They may be abbreviated.
const PARTED_WRITES: &[&str] = &[
    "mklabel",
    "mktable",
    "mkpart",
    "mkpartfs",
    "rm",
    "resizepart",
    "resize",
    "move",
    "name",
    "set",
    "toggle",
    "disk_set",
    "disk_toggle",
    "rescue",
    "type",
    "cp",
    "mkfs",
];

/// parted(8): without a command it asks for them.
fn parted(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("l", "list"),
        flag("m", "machine"),
        flag("j", "json"),
        flag("s", "script"),
        flag("f", "fix"),
        flag("v", "version"),
        flag("h", "help"),
        value("a", "align"),
    ])
    .in_order();
    let parsed = GRAMMAR.read(call.args);
    let Some((device, commands)) = parsed.operands.split_first() else { return };
    let writes = |command: &&Field| {
        let command = word(command);
        command.len() > 1 && PARTED_WRITES.iter().any(|write| write.starts_with(&*command))
    };
    let writes = commands.is_empty() || commands.iter().any(writes);
    if writes && !parsed.informs() && !parsed.has("list") {
        acts::overwrite(machine, device);
    }
}

/// badblocks(8): `-w` overwrites everything, `-n` reads and writes it back.
fn badblocks(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar =
        Grammar::new(&[value("bcdeiopt", ""), flag("fsvBX", ""), flag("n", ""), flag("w", "")]);
    let parsed = GRAMMAR.read(call.args);
    let Some(device) = parsed.operands.first() else { return };
    if parsed.has("w") {
        acts::overwrite(machine, device);
    } else if parsed.has("n") {
        let object = device.source.to_string();
        acts::judged_thing(
            machine,
            RuleId::StorageStack,
            Verdict::Confirm,
            "rewrites every block in place",
            object,
        );
    }
}

/// Options of hdparm(8) that erase or write sectors, or lock the drive.
const HDPARM_WRITES: &[&str] = &[
    "--security-erase",
    "--security-erase-enhanced",
    "--security-set-pass",
    "--trim-sector-ranges",
    "--trim-sector-ranges-stdin",
    "--write-sector",
    "--repair-sector",
    "--make-bad-sector",
    "--dco-restore",
    "--fwdownload",
    "--sanitize-block-erase",
    "--sanitize-crypto-scramble",
    "--sanitize-overwrite",
];

fn hdparm(call: &Call<'_>, machine: &mut dyn Machine) {
    let words =
        Words::sort(call.args, &["--security-erase", "--security-erase-enhanced", "--security-set-pass"]);
    if words.has(HDPARM_WRITES) {
        for device in words.operands.iter().filter(|operand| word(operand).contains('/')) {
            acts::overwrite(machine, device);
        }
    }
}

/// Actions of cryptsetup(8) that destroy a header, a key slot or everything behind it.
const CRYPTSETUP_WRITES: &[&str] = &[
    "luksFormat",
    "luksErase",
    "erase",
    "luksKillSlot",
    "luksRemoveKey",
    "luksDelKey",
    "luksHeaderRestore",
    "reencrypt",
    "luksConvertKey",
    "format",
];

fn cryptsetup(call: &Call<'_>, machine: &mut dyn Machine) {
    const VALUED: &[&str] = &[
        "-c",
        "--cipher",
        "-h",
        "--hash",
        "-s",
        "--key-size",
        "-d",
        "--key-file",
        "-S",
        "--key-slot",
        "-i",
        "--iter-time",
        "--type",
        "--uuid",
        "--label",
        "--header",
        "--pbkdf",
        "--keyfile-size",
        "-l",
        "-o",
        "-p",
        "--header-backup-file",
        "--sector-size",
        "-t",
        "-T",
    ];
    let words = Words::sort(call.args, VALUED);
    if words.has(&["--help", "-?", "--version", "-V", "--usage", "--test-args"]) {
        return;
    }
    let Some((action, operands)) = words.operands.split_first() else { return };
    if CRYPTSETUP_WRITES.contains(&&*word(action))
        && let Some(device) = operands.first()
    {
        acts::overwrite(machine, device);
    }
}

/// mdadm(8): modes that take an array down or a member's metadata away.
fn mdadm(call: &Call<'_>, machine: &mut dyn Machine) {
    const VALUED: &[&str] = &[
        "-c",
        "--config",
        "-l",
        "--level",
        "-n",
        "--raid-devices",
        "-x",
        "-N",
        "--name",
        "-e",
        "--metadata",
    ];
    let words = Words::sort(call.args, VALUED);
    let object = words.objects(0);
    let what = if words.has(&["--zero-superblock"]) {
        "removes the RAID metadata of a member"
    } else if words.has(&["--stop", "-S"]) {
        "stops a RAID array"
    } else if words.has(&["--create", "-C", "--build", "-B"]) {
        "makes a RAID array of devices and loses what they hold"
    } else if words.has(&["--remove", "--fail", "--set-faulty"]) {
        "takes devices out of a RAID array"
    } else {
        return;
    };
    if !words.has(&["--help", "-h", "--help-options"]) {
        acts::thing(machine, RuleId::StorageStack, what, object);
    }
}

/// LVM commands and what they lose (lvm(8)).
const LVM: &[(&str, &str)] = &[
    ("lvremove", "removes logical volumes"),
    ("vgremove", "removes a volume group"),
    ("pvremove", "removes the LVM label of a device"),
    ("lvreduce", "cuts a logical volume off at the end"),
    ("vgreduce", "takes devices out of a volume group"),
    ("pvcreate", "overwrites a device with an LVM label"),
    ("lvconvert", "puts a snapshot back over its origin"),
];

/// LVM: by its commands' own names, or `lvm COMMAND`. `--test` changes nothing.
fn lvm(call: &Call<'_>, machine: &mut dyn Machine) {
    let (name, args) = match (call.name, call.args.split_first()) {
        ("lvm", Some((first, rest))) => (word(first).into_owned(), rest),
        ("lvm", None) => return,
        (name, _) => (name.to_owned(), call.args),
    };
    let words =
        Words::sort(args, &["-L", "--size", "-l", "--extents", "--config", "-S", "--select", "--devices"]);
    // Of all that lvconvert(8) changes, only a merge loses data.
    let keeps = name == "lvconvert" && !words.has(&["--merge", "--mergesnapshot"]);
    if keeps || words.has(&["--test", "-t", "--help", "-h", "--longhelp", "--version"]) {
        return;
    }
    if let Some((_, what)) = LVM.iter().find(|(command, _)| *command == name) {
        acts::thing(machine, RuleId::StorageStack, *what, words.objects(0));
    }
}

/// btrfs(8): groups and commands may be abbreviated. A deleted subvolume is a removed tree.
fn btrfs(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("c", "commit-after"),
        flag("C", "commit-each"),
        flag("v", "verbose"),
        flag("q", "quiet"),
        flag("R", "recursive"),
        flag("f", "force"),
        flag("", "dry-run"),
        value("i", "subvolid"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let [group, command, operands @ ..] = parsed.operands.as_slice() else { return };
    if parsed.informs() || parsed.has("dry-run") {
        return;
    }
    let (group, command) = (word(group), word(command));
    let is = |full: &str, given: &str| given.len() >= 2 && full.starts_with(given);
    if is("subvolume", &group) && is("delete", &command) {
        for operand in operands {
            acts::remove(machine, operand, true);
        }
    } else if is("device", &group) && (is("delete", &command) || is("remove", &command)) {
        btrfs_loses(machine, "takes a device out of a file system", operands);
    } else if is("replace", &group) && is("start", &command) {
        btrfs_loses(machine, "overwrites a device with another one's content", operands);
    } else if is("rescue", &group)
        && matches!(&*command, "zero-log" | "clear-uuid-tree" | "clear-space-cache")
    {
        btrfs_loses(machine, "drops a log of the file system", operands);
    }
}

fn btrfs_loses(machine: &mut dyn Machine, what: &'static str, operands: &[&Field]) {
    let object: Vec<&str> = operands.iter().map(|operand| &*operand.source).collect();
    acts::thing(machine, RuleId::StorageStack, what, object.join(" "));
}

const STORAGE: RuleId = RuleId::StorageStack;

const fn lost(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, STORAGE, what)
}

/// Tools that are told what to do by a verb and name what they do it to.
static TOOLS: &[Tool] = &[
    // zfs-destroy(8), zfs-rollback(8), zfs-receive(8).
    Tool {
        names: &["zfs"],
        valued: &["-o", "-x"],
        dry: &["-n"],
        rows: &[
            lost("destroy", "destroys a data set or its snapshots"),
            lost("rollback", "discards what was written since a snapshot"),
            lost("receive|recv", "overwrites a data set with a received one").with(&["-F"]),
        ],
    },
    // zpool(8).
    Tool {
        names: &["zpool"],
        valued: &["-o", "-O", "-m", "-R", "-t"],
        dry: &["-n"],
        rows: &[
            lost("destroy", "destroys a pool"),
            lost("labelclear", "removes the pool label of a device"),
            lost("create", "makes a pool of devices and loses what they hold"),
            lost("add", "adds devices to a pool and loses what they hold"),
            lost("replace|attach", "overwrites a device with a pool's data"),
            lost("remove|detach", "takes a device out of a pool"),
            lost("import", "discards a pool's last transactions").with(&["-F", "-X"]),
        ],
    },
    // dmsetup(8).
    Tool {
        names: &["dmsetup"],
        valued: &["--table", "-u", "--uuid"],
        dry: &[],
        rows: &[lost("remove|remove_all|wipe_table|clear", "removes a device mapping")],
    },
    // nvme(1).
    Tool {
        names: &["nvme"],
        valued: &["-n", "--namespace-id", "-s", "--ses", "-l", "--lbaf", "-a", "--sanact"],
        dry: &["-h"],
        rows: &[
            lost("format", "erases a drive"),
            lost("sanitize", "erases a drive"),
            lost("delete-ns|create-ns|detach-ns", "changes the namespaces of a drive"),
            lost("write|write-zeroes|write-uncor|dsm", "overwrites blocks of a drive"),
            lost("fw-download|fw-commit|fw-activate", "replaces the firmware of a drive"),
        ],
    },
    Tool {
        names: &["bcachefs"],
        valued: &[],
        dry: &[],
        rows: &[
            lost("format", "makes a file system on devices and loses what they hold"),
            lost("device remove|evacuate", "takes a device out of a file system"),
        ],
    },
    // diskutil(8).
    Tool {
        names: &["diskutil"],
        valued: &[],
        dry: &[],
        rows: &[
            lost("erase*", "erases a disk or volume"),
            lost("partitionDisk", "erases a disk and partitions it"),
            lost("zeroDisk|randomDisk|secureErase|reformat", "erases a disk or volume"),
            lost("splitPartition|mergePartitions|addPartition", "changes the partitions of a disk"),
            lost("resizeVolume|resizeDisk", "changes the size of a volume"),
            harmless("apfs list*|unlock*|lock*|mount*|unmount*"),
            lost(
                "apfs delete*|erase*|create*|convert*|resize*",
                "changes or deletes an APFS container or volume",
            ),
            lost(
                "ap delete*|erase*|create*|convert*|resize*",
                "changes or deletes an APFS container or volume",
            ),
            lost("appleRAID|ar delete|create|remove|update", "changes a RAID set"),
            lost("coreStorage|cs delete*|convert|revert|create*|resize*", "changes a CoreStorage volume"),
        ],
    },
    // asr(8).
    Tool {
        names: &["asr"],
        valued: &["--source", "--target", "-s", "-t"],
        dry: &[],
        rows: &[lost("restore|multicast", "overwrites a volume with an image")],
    },
    Tool {
        names: &["gpt"],
        valued: &["-p", "-m", "-s"],
        dry: &[],
        rows: &[lost(
            "destroy|create|add|remove|recover|migrate|label",
            "changes the partition table of a disk",
        )],
    },
    // wsl.exe: a distribution is one virtual disk.
    Tool {
        names: &["wsl"],
        valued: &[],
        dry: &[],
        rows: &[lost("", "deletes a whole distribution with its files").with(&["--unregister"])],
    },
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, call, machine);
}

/// flashrom(8): `-w` and `-E` overwrite the firmware.
fn flashrom(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("p", "programmer"),
        value("c", "chip"),
        value("l", "layout"),
        value("i", "include"),
        optional("w", "write"),
        flag("E", "erase"),
        optional("r", "read"),
        optional("v", "verify"),
        flag("n", "noverify"),
        flag("V", "verbose"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if parsed.has_any(&["write", "erase"]) && !parsed.informs() {
        acts::thing(machine, STORAGE, "overwrites the firmware", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> Vec<String> {
        Recorder::default().call_in(PROGRAMS, line).told()
    }

    #[track_caller]
    fn keeps(lines: &[&str]) {
        for line in lines {
            assert_eq!(told(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn a_file_system_is_made_on_the_device_operand() {
        for line in [
            "mkfs /dev/sda1",
            "mkfs.ext4 /dev/sda1",
            "mkfs -t xfs /dev/sda1",
            "mkfs.vfat -F 32 -n lsblk /dev/sda1",
            "mkfs.ext4 -L lsblk /dev/sda1",
            "mkfs.ext4 -F /dev/sda1 1000000",
            "mkfs.btrfs -f /dev/sda1",
            "mkfs -V -t ext4 -L df /dev/sda1",
            "mkfs.xfs -f -n size=8192 /dev/sda1",
            "mkswap /dev/sda1",
            "mkfs.minix /dev/sda1",
            "newfs_apfs -v name /dev/sda1",
        ] {
            assert_eq!(told(line), ["device /dev/sda1"], "{line}");
        }
        assert_eq!(told("mkfs.btrfs -d raid1 /dev/a /dev/b").len(), 2);
        keeps(&[
            "mkfs.ext4 -n /dev/sda",
            "mkfs -t ext4 -n /dev/sda",
            "mkfs.xfs -N /dev/sda",
            "mkfs.ntfs -n /dev/sda",
        ]);
        keeps(&["mkfs.ext4 --help", "mkfs --version", "mkfs.ext4"]);
    }

    #[test]
    fn partition_tools_write_unless_they_list() {
        for line in [
            "fdisk /dev/sda",
            "cfdisk /dev/sda",
            "gdisk /dev/sda",
            "sgdisk --zap-all /dev/sda",
            "sgdisk -n 1:0:0 /dev/sda",
            "sgdisk -pZ /dev/sda",
            "sfdisk --delete /dev/sda",
            "sfdisk /dev/sda",
            "wipefs -a /dev/sda",
            "wipefs -o 0x438 /dev/sda",
            "wipefs -af /dev/sda",
            "parted /dev/sda mklabel gpt",
            "parted -s /dev/sda rm 1",
            "parted /dev/sda unit s mkp primary 1 2",
            "parted /dev/sda",
            "blkdiscard -f /dev/sda",
            "badblocks -w /dev/sda",
            "badblocks -wsv /dev/sda",
            "hdparm --security-erase p /dev/sda",
            "debugfs -w -R 'rm /x' /dev/sda",
            "cryptsetup luksFormat /dev/sda",
            "cryptsetup -q --key-file k luksErase /dev/sda",
        ] {
            assert_eq!(told(line), ["device /dev/sda"], "{line}");
        }
        keeps(&[
            "fdisk -l /dev/sda",
            "fdisk -l",
            "fdisk --list",
            "cfdisk -r /dev/sda",
            "gdisk -l /dev/sda",
            "sgdisk -p /dev/sda",
            "sgdisk -b backup /dev/sda",
            "sgdisk --pretend --zap-all /dev/sda",
            "sfdisk -d /dev/sda",
            "sfdisk -l",
            "sfdisk -n --delete /dev/sda",
            "wipefs /dev/sda",
            "wipefs -an /dev/sda",
            "parted /dev/sda print",
            "parted -l",
            "parted /dev/sda unit MiB print free",
            "badblocks -sv /dev/sda",
            "hdparm -I /dev/sda",
            "hdparm -tT /dev/sda",
            "debugfs -R stats /dev/sda",
            "cryptsetup luksDump /dev/sda",
            "cryptsetup luksOpen /dev/sda x",
            "cryptsetup close x",
        ]);
    }

    #[test]
    fn badblocks_that_writes_back_is_asked_about() {
        assert_eq!(told("badblocks -n /dev/sda"), ["[storage-stack confirm] /dev/sda"]);
    }

    #[test]
    fn the_storage_stack_loses_what_is_named() {
        for line in [
            "lvremove -f vg0/root",
            "lvm lvremove vg0/root",
            "zfs destroy -r vg0/root",
            "zpool destroy -f vg0/root",
            "dmsetup remove vg0/root",
            "mdadm --stop vg0/root",
            "mdadm -S vg0/root --config /etc/blkid.conf",
            "mdadm --zero-superblock vg0/root",
            "btrfs device delete vg0/root",
            "btrfs dev del vg0/root",
            "nvme format vg0/root",
            "diskutil eraseDisk vg0/root",
            "diskutil ERASEdisk vg0/root",
            "diskutil apfs deleteContainer vg0/root",
        ] {
            assert_eq!(told(line), ["[storage-stack default] vg0/root"], "{line}");
        }
        keeps(&[
            "lvremove --test vg0/root",
            "lvremove -t vg0/root",
            "lvm lvs",
            "lvm",
            "zfs destroy -n tank/x",
            "zfs list",
            "zpool status tank",
            "zpool scrub tank",
            "dmsetup ls",
            "mdadm --detail /dev/md0",
            "mdadm --assemble --scan",
            "nvme list",
            "nvme smart-log /dev/nvme0",
            "diskutil list",
            "diskutil apfs list",
            "diskutil unmount /Volumes/x",
            "btrfs subvolume list /",
            "btrfs filesystem df /",
            "flashrom -r backup.bin",
        ]);
    }

    #[test]
    fn a_deleted_subvolume_is_a_removed_tree() {
        assert_eq!(told("btrfs subvolume delete /home"), ["remove-tree /home"]);
        assert_eq!(told("btrfs sub del -c /home/x"), ["remove-tree /home/x"]);
        keeps(&["btrfs subvolume delete --help"]);
    }
}
