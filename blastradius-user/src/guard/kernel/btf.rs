//! A reader of BTF, the type information that the running kernel publishes.
//!
//! It reads only what the loader asks: where a field lies in a structure, what a function takes and returns. The bytes are
//! foreign, so every offset and every reference is checked and every search is bounded; nonsense is an error, never a
//! panic or a loop. Format: Documentation/bpf/btf.rst.

use std::path::Path;

/// Where the running kernel publishes its types.
pub const VMLINUX: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
/// Nesting of structures, pointers and qualifiers that is followed at most.
const DEPTH: usize = 32;

/// Why something could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BtfError {
    /// The bytes are no BTF, or end early.
    #[error("malformed BTF: {0}")]
    Malformed(&'static str),
    /// A kind of type that this reader does not know, so that it cannot tell where the next one begins.
    #[error("BTF has a type of the unknown kind {0}")]
    UnknownKind(u8),
    /// The kernel has no such structure, function or field.
    #[error("the kernel has no {0}")]
    Absent(String),
}

/// The kinds of types that the reader distinguishes. Numbers: `BTF_KIND_*` in include/uapi/linux/btf.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pointer,
    Struct,
    Union,
    Typedef,
    Qualifier,
    Function,
    Prototype,
    /// Anything else: it only has a length.
    Other,
}

/// The kind with number `kind`, and the bytes that follow its 12-byte head.
fn kind_of(kind: u8, count: usize) -> Result<(Kind, usize), BtfError> {
    Ok(match kind {
        1 => (Kind::Other, 4),
        2 => (Kind::Pointer, 0),
        3 => (Kind::Other, 12),
        4 => (Kind::Struct, count * 12),
        5 => (Kind::Union, count * 12),
        6 => (Kind::Other, count * 8),
        7 | 16 => (Kind::Other, 0),
        8 => (Kind::Typedef, 0),
        9..=11 | 18 => (Kind::Qualifier, 0),
        12 => (Kind::Function, 0),
        13 => (Kind::Prototype, count * 8),
        14 | 17 => (Kind::Other, 4),
        15 | 19 => (Kind::Other, count * 12),
        unknown => return Err(BtfError::UnknownKind(unknown)),
    })
}

/// What a function takes and returns, as far as the loader asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// For each parameter that is a pointer to a structure, the structure's name.
    pub parameters: Vec<Option<String>>,
    /// Whether it returns a pointer.
    pub returns_pointer: bool,
}

impl Signature {
    /// The position of the last parameter that is a `struct NAME *`.
    pub fn last_pointer_to(&self, name: &str) -> Option<usize> {
        self.parameters.iter().rposition(|structure| structure.as_deref() == Some(name))
    }
}

/// One set of types.
pub struct Btf {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Where type `id` begins in `types`, at index `id - 1`: id 0 is `void` and has no record.
    starts: Vec<u32>,
    /// Hashes of the names of structures and functions, with the ids, in order: a kernel has a hundred thousand types, and
    /// the loader asks for a hundred of them.
    names: Vec<(u64, u32)>,
}

struct Type<'a> {
    name: u32,
    kind: Kind,
    has_bitfields: bool,
    /// The type that it refers to, where it does.
    target: u32,
    /// What follows the head.
    tail: &'a [u8],
}

struct Member {
    name: u32,
    type_id: u32,
    bit_offset: u32,
}

fn word(bytes: &[u8], at: usize) -> Result<u32, BtfError> {
    let end = at.checked_add(4).ok_or(BtfError::Malformed("an offset overflows"))?;
    let bytes = bytes.get(at..end).ok_or(BtfError::Malformed("it ends early"))?;
    Ok(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn section(data: &[u8], header: usize, offset: u32, length: u32) -> Result<Vec<u8>, BtfError> {
    let start = header.checked_add(offset as usize);
    let end = start.and_then(|start| start.checked_add(length as usize));
    match (start, end) {
        (Some(start), Some(end)) => {
            data.get(start..end).map(<[u8]>::to_vec).ok_or(BtfError::Malformed("a section lies outside"))
        }
        _ => Err(BtfError::Malformed("a section overflows")),
    }
}

impl Btf {
    /// Reads the types of the running kernel.
    ///
    /// # Errors
    /// The file cannot be read (a kernel without `CONFIG_DEBUG_INFO_BTF`), or holds something else.
    pub fn of_running_kernel() -> std::io::Result<Result<Self, BtfError>> {
        Ok(Self::parse(&std::fs::read(Path::new(VMLINUX))?))
    }

    /// Reads a set of types that depends on no other.
    ///
    /// # Errors
    /// Whatever does not look like BTF in this machine's byte order.
    pub fn parse(data: &[u8]) -> Result<Self, BtfError> {
        let magic = word(data, 0)?;
        if magic.to_ne_bytes()[..2] != MAGIC.to_ne_bytes() {
            return Err(BtfError::Malformed("it does not begin with BTF's magic number"));
        }
        let header = word(data, 4)? as usize;
        let types = section(data, header, word(data, 8)?, word(data, 12)?)?;
        let strings = section(data, header, word(data, 16)?, word(data, 20)?)?;
        let starts = starts(&types)?;
        let mut btf = Self { types, strings, starts, names: Vec::new() };
        btf.names = btf.index()?;
        Ok(btf)
    }

    /// The byte offset of a field. `path` may lead with dots into nested structures; anonymous members are searched
    /// through.
    ///
    /// # Errors
    /// No such structure or field, or one that does not begin at a byte.
    pub fn offset(&self, structure: &str, path: &str) -> Result<u32, BtfError> {
        let absent = || BtfError::Absent(format!("struct {structure} with {path}"));
        for id in self.ids(structure, Kind::Struct)? {
            if let Some(bits) = self.member_bits(id, path, DEPTH)? {
                return if bits % 8 == 0 { Ok(bits / 8) } else { Err(absent()) };
            }
        }
        Err(absent())
    }

    /// The id of a structure.
    ///
    /// # Errors
    /// No such structure.
    pub fn structure(&self, name: &str) -> Result<u32, BtfError> {
        let ids = self.ids(name, Kind::Struct)?;
        ids.first().copied().ok_or_else(|| BtfError::Absent(format!("struct {name}")))
    }

    /// The bytes that a structure takes.
    ///
    /// # Errors
    /// No such structure.
    pub fn size(&self, structure: &str) -> Result<u32, BtfError> {
        // Where others have the type that they refer to, a structure has its size.
        Ok(self.get(self.structure(structure)?)?.target)
    }

    /// The id of a function, by which programs are attached to it.
    ///
    /// # Errors
    /// No such function.
    pub fn function(&self, name: &str) -> Result<u32, BtfError> {
        let ids = self.ids(name, Kind::Function)?;
        ids.first().copied().ok_or_else(|| BtfError::Absent(format!("function {name}")))
    }

    /// What a function takes and returns.
    ///
    /// # Errors
    /// No such function.
    pub fn signature(&self, name: &str) -> Result<Signature, BtfError> {
        let function = self.get(self.function(name)?)?;
        let prototype = self.get(function.target)?;
        if prototype.kind != Kind::Prototype {
            return Err(BtfError::Malformed("a function without a prototype"));
        }
        let parameters = prototype
            .tail
            .chunks_exact(8)
            .map(|parameter| Ok(self.pointee(word(parameter, 4)?)?.flatten()))
            .collect::<Result<_, BtfError>>()?;
        let returns_pointer = self.pointee(prototype.target)?.is_some();
        Ok(Signature { parameters, returns_pointer })
    }

    /// For a pointer: the name of the structure that it points to, if it is one.
    fn pointee(&self, id: u32) -> Result<Option<Option<String>>, BtfError> {
        let Some(pointer) = self.resolve(id)? else { return Ok(None) };
        if pointer.kind != Kind::Pointer {
            return Ok(None);
        }
        let Some(target) = self.resolve(pointer.target)? else { return Ok(Some(None)) };
        Ok(Some(if target.kind == Kind::Struct { Some(self.string(target.name)?.to_owned()) } else { None }))
    }

    /// The type behind typedefs and qualifiers; `None` for `void`.
    fn resolve(&self, mut id: u32) -> Result<Option<Type<'_>>, BtfError> {
        for _ in 0..DEPTH {
            if id == 0 {
                return Ok(None);
            }
            let found = self.get(id)?;
            if !matches!(found.kind, Kind::Typedef | Kind::Qualifier) {
                return Ok(Some(found));
            }
            id = found.target;
        }
        Err(BtfError::Malformed("a chain of typedefs without end"))
    }

    /// Where the member at `path` begins, in bits.
    fn member_bits(&self, id: u32, path: &str, depth: usize) -> Result<Option<u32>, BtfError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(BtfError::Malformed("structures nested without end"));
        };
        let Some(container) = self.resolve(id)? else { return Ok(None) };
        if !matches!(container.kind, Kind::Struct | Kind::Union) {
            return Ok(None);
        }
        let (first, rest) = match path.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (path, None),
        };
        for record in container.tail.chunks_exact(12) {
            let member = Member::parse(record, container.has_bitfields)?;
            let inner = match (self.string(member.name)?, rest) {
                ("", _) => self.member_bits(member.type_id, path, depth)?,
                (name, Some(rest)) if name == first => self.member_bits(member.type_id, rest, depth)?,
                (name, None) if name == first => Some(0),
                _ => None,
            };
            if let Some(inner) = inner {
                return Ok(Some(inner.saturating_add(member.bit_offset)));
            }
        }
        Ok(None)
    }

    /// The ids of the types of one kind that bear `name`.
    fn ids(&self, name: &str, kind: Kind) -> Result<Vec<u32>, BtfError> {
        let mut found = Vec::new();
        let hash = hash(name.as_bytes());
        let first = self.names.partition_point(|(other, _)| *other < hash);
        for (_, id) in self.names[first..].iter().take_while(|(other, _)| *other == hash) {
            let candidate = self.get(*id)?;
            if candidate.kind == kind && self.bytes(candidate.name)? == name.as_bytes() {
                found.push(*id);
            }
        }
        Ok(found)
    }

    fn index(&self) -> Result<Vec<(u64, u32)>, BtfError> {
        let mut names = Vec::new();
        for id in 1..=self.starts.len() as u32 {
            let named = self.get(id)?;
            if matches!(named.kind, Kind::Struct | Kind::Function) {
                names.push((hash(self.bytes(named.name)?), id));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn string(&self, offset: u32) -> Result<&str, BtfError> {
        std::str::from_utf8(self.bytes(offset)?).map_err(|_| BtfError::Malformed("a name is no text"))
    }

    fn bytes(&self, offset: u32) -> Result<&[u8], BtfError> {
        let rest = self.strings.get(offset as usize..).ok_or(BtfError::Malformed("a name lies outside"))?;
        Ok(rest.split(|byte| *byte == 0).next().unwrap_or_default())
    }

    fn get(&self, id: u32) -> Result<Type<'_>, BtfError> {
        let index = (id as usize).checked_sub(1).ok_or(BtfError::Malformed("void where a type is due"))?;
        let start = *self.starts.get(index).ok_or(BtfError::Malformed("a type id lies outside"))?;
        Type::parse(&self.types, start as usize)
    }
}

impl<'a> Type<'a> {
    fn parse(types: &'a [u8], at: usize) -> Result<Self, BtfError> {
        let (name, info, target) = (word(types, at)?, word(types, at + 4)?, word(types, at + 8)?);
        let (kind, length) = kind_of((info >> 24 & 0x1f) as u8, (info & 0xffff) as usize)?;
        let tail = types.get(at + 12..at + 12 + length).ok_or(BtfError::Malformed("a type ends early"))?;
        Ok(Self { name, kind, has_bitfields: info >> 31 == 1, target, tail })
    }
}

impl Member {
    fn parse(record: &[u8], has_bitfields: bool) -> Result<Self, BtfError> {
        let offset = word(record, 8)?;
        // With bitfields in the structure, the upper byte is the width and the rest the offset.
        let bit_offset = if has_bitfields { offset & 0x00ff_ffff } else { offset };
        Ok(Self { name: word(record, 0)?, type_id: word(record, 4)?, bit_offset })
    }
}

/// FNV-1a: quick, and nothing against those who choose what is hashed.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn starts(types: &[u8]) -> Result<Vec<u32>, BtfError> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at < types.len() {
        starts.push(u32::try_from(at).map_err(|_| BtfError::Malformed("it is larger than 4 GiB"))?);
        at += 12 + Type::parse(types, at)?.tail.len();
    }
    Ok(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a set of types, record by record.
    #[derive(Default)]
    struct Writer {
        types: Vec<u8>,
        strings: Vec<u8>,
        count: u32,
    }

    impl Writer {
        fn new() -> Self {
            Self { strings: vec![0], ..Self::default() }
        }

        fn string(&mut self, name: &str) -> u32 {
            if name.is_empty() {
                return 0;
            }
            let at = self.strings.len() as u32;
            self.strings.extend(name.as_bytes());
            self.strings.push(0);
            at
        }

        fn record(&mut self, name: u32, kind: u32, count: u32, target: u32, tail: &[u32]) -> u32 {
            for value in [name, kind << 24 | count, target].iter().chain(tail) {
                self.types.extend(value.to_ne_bytes());
            }
            self.count += 1;
            self.count
        }

        fn finish(&self) -> Vec<u8> {
            let mut data = Vec::new();
            data.extend(MAGIC.to_ne_bytes());
            data.extend([1, 0]);
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            for value in [24, 0, types, types, strings] {
                data.extend(u32::to_ne_bytes(value));
            }
            data.extend(&self.types);
            data.extend(&self.strings);
            data
        }
    }

    /// `struct qstr { union { u64; }; char *name; }`, `struct dentry { int flags; union { const struct qstr d_name; }; }`,
    /// `struct dentry *vfs_mkdir(struct dentry *, int)`.
    fn sample() -> Vec<u8> {
        let mut w = Writer::new();
        let int_name = w.string("int");
        let int = w.record(int_name, 1, 0, 4, &[32]);
        let pointer = w.record(0, 2, 0, int, &[]);
        let (qstr, name, hash) = (w.string("qstr"), w.string("name"), w.string("hash"));
        let inner = w.record(0, 5, 1, 8, &[hash, int, 0]);
        let qstr = w.record(qstr, 4, 2, 16, &[0, inner, 0, name, pointer, 64]);
        let constant = w.record(0, 10, 0, qstr, &[]);
        let (d_name, flags) = (w.string("d_name"), w.string("d_flags"));
        let anonymous = w.record(0, 5, 1, 16, &[d_name, constant, 0]);
        let dentry_name = w.string("dentry");
        let dentry = w.record(dentry_name, 4, 2, 24, &[flags, int, 0, 0, anonymous, 64]);
        let dentry_pointer = w.record(0, 2, 0, dentry, &[]);
        let prototype = w.record(0, 13, 2, dentry_pointer, &[0, dentry_pointer, 0, int]);
        let mkdir = w.string("vfs_mkdir");
        w.record(mkdir, 12, 0, prototype, &[]);
        w.finish()
    }

    #[test]
    fn a_field_is_found_through_anonymous_members_and_qualifiers() {
        let btf = Btf::parse(&sample()).expect("well formed");
        assert_eq!(btf.offset("dentry", "d_flags"), Ok(0));
        assert_eq!(btf.offset("dentry", "d_name"), Ok(8));
        assert_eq!(btf.offset("dentry", "d_name.name"), Ok(16));
        assert_eq!(btf.offset("dentry", "d_name.hash"), Ok(8));
    }

    #[test]
    fn what_is_not_there_is_absent_by_name() {
        let btf = Btf::parse(&sample()).expect("well formed");
        assert!(matches!(btf.offset("dentry", "d_inode"), Err(BtfError::Absent(_))));
        assert!(matches!(btf.offset("inode", "i_sb"), Err(BtfError::Absent(_))));
        assert!(matches!(btf.signature("vfs_rmdir"), Err(BtfError::Absent(_))));
    }

    #[test]
    fn a_signature_tells_pointers_to_structures() {
        let signature = Btf::parse(&sample()).and_then(|btf| btf.signature("vfs_mkdir")).expect("there");
        assert_eq!(signature.parameters, [Some("dentry".to_owned()), None]);
        assert_eq!(signature.last_pointer_to("dentry"), Some(0));
        assert!(signature.returns_pointer);
    }

    #[test]
    fn every_truncation_is_an_error_or_harmless() {
        let data = sample();
        for end in 0..data.len() {
            if let Ok(btf) = Btf::parse(&data[..end]) {
                let _ = btf.offset("dentry", "d_name.name");
            }
        }
    }

    #[test]
    fn every_changed_byte_is_survived() {
        let data = sample();
        for at in 0..data.len() {
            for value in [0, 1, 2, 0x7f, 0xff] {
                let mut changed = data.clone();
                changed[at] = value;
                if let Ok(btf) = Btf::parse(&changed) {
                    let _ = btf.offset("dentry", "d_name.name");
                    let _ = btf.signature("vfs_mkdir");
                }
            }
        }
    }

    #[test]
    fn a_structure_that_contains_itself_is_an_error() {
        let mut w = Writer::new();
        let name = w.string("loop");
        w.record(name, 4, 1, 8, &[0, 1, 0]);
        let btf = Btf::parse(&w.finish()).expect("well formed");
        assert!(matches!(btf.offset("loop", "x"), Err(BtfError::Malformed(_))));
    }

    #[test]
    fn an_unknown_kind_is_named() {
        let mut w = Writer::new();
        w.record(0, 27, 0, 0, &[]);
        assert_eq!(Btf::parse(&w.finish()).err(), Some(BtfError::UnknownKind(27)));
    }
}
