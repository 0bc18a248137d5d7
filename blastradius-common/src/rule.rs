//! Rule ids: one stable, kebab-case name for each reason to object.
//!
//! The ids live here because the kernel side names them in its events; what each means, its default verdict and its
//! examples are in the user side's rule table, from which the documentation is generated.

macro_rules! rule_ids {
    ($($(#[$doc:meta])* $variant:ident = $id:literal,)*) => {
        /// Names one rule. The discriminant crosses the kernel boundary; the name is what people see.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum RuleId { $($(#[$doc])* $variant,)* }

        impl RuleId {
            /// Every rule, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stable kebab-case id.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// The rule with this discriminant, if there is one.
            pub fn from_u16(value: u16) -> Option<Self> {
                Self::ALL.get(usize::from(value)).copied()
            }
        }
    };
}

rule_ids! {
    /// The target is a floor object, or a recursion or glob that reaches one.
    FloorPath = "floor-path",
    /// A variable that is unset or empty makes up the operand, or turns it into another path.
    EmptyVariableExpansion = "empty-variable-expansion",
    /// `~` may mean the home or a file of that name.
    TildeAmbiguous = "tilde-ambiguous",
    /// The operand is an empty word.
    EmptyTarget = "empty-target",
    /// The target lies outside scope.
    OutOfScope = "out-of-scope",
    /// A glob of a destructive command matches nothing.
    GlobNoMatch = "glob-no-match",
    /// A glob expands to very many entries, or to the entries of a repository's root.
    GlobBreadth = "glob-breadth",
    /// Text that does not parse cleanly holds a destructive verb.
    UnparseableCommand = "unparseable-command-syntax",
    /// A bound of the evaluation was reached.
    UnparseableLimit = "unparseable-command-limit",
    /// The operand is known only at run time.
    UnknownOperand = "unknown-operand",
    /// Text that is executed is known only at run time.
    UnknownCode = "unknown-code",
    /// A file or directory without which the system does not start or admit anyone.
    CriticalFile = "critical-file",
    /// The root of a scope, or an ancestor of something protected.
    ScopeRoot = "scope-root",
    /// What git needs to give the past back.
    GitHistory = "git-history",
    /// The guard's own files.
    OwnFiles = "own-files",
    /// A `deny` line names the target.
    DeniedPath = "denied-path",
    /// git would discard uncommitted work or history.
    GitDiscard = "git-discard",
    /// git would rewrite or remove what others have.
    GitRemote = "git-remote",
    /// Many untracked files that are not rebuildable would go.
    UntrackedFiles = "untracked-files",
    /// Owner or mode of a whole critical tree.
    RecursiveMetadata = "recursive-metadata",
    /// A block device is written.
    BlockDevice = "block-device",
    /// File systems, volumes or encryption headers are made or destroyed.
    StorageStack = "storage-stack",
    /// The machine is stopped or restarted.
    PowerState = "power-state",
    /// An account, a group or a home goes with it.
    AccountRemoval = "account-removal",
    /// A protection of the operating system is switched off.
    SecurityPosture = "security-posture",
    /// Firewall, boot loader, scheduler: how the machine starts or is reached.
    SystemConfiguration = "system-configuration",
    /// Packages are removed or purged.
    PackageRemoval = "package-removal",
    /// Packages are installed from elsewhere than the configured source.
    PackageSource = "package-source",
    /// Code from the network is executed.
    NetworkCode = "network-code",
    /// Another machine, container, database or cloud account loses something.
    RemoteResource = "remote-resource",
    /// Credentials, publishing or deployment leave the machine.
    OutwardAction = "outward-action",
    /// A `deny-command` or `confirm-command` line matches.
    CommandPattern = "command-pattern",
    /// The policy could not be read.
    PolicyError = "policy-error",
    /// A mount point below the target would be entered or lost.
    MountBelow = "mount-below",
    /// A quoted operand still holds shell syntax.
    QuotedTooMuch = "quoted-too-much",
    /// A letter that looks like another, or like nothing, stands in a destructive command.
    LookAlike = "look-alike-character",
}
