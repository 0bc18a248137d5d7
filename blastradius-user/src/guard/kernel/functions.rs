//! What the kernel is told of the functions of a program: it wants to know each by a type before it lets any be called back.
//!
//! Of the types that the compiler wrote nothing is needed, so nothing of them is handed over: every function is one without
//! arguments, local to the program, so that the verifier follows it from where it is called.

use std::{io, os::fd::OwnedFd};

use aya_obj::generated::{
    BPF_ALU64, BPF_CALL, BPF_DW, BPF_IMM, BPF_JMP, BPF_LD, BPF_MOV, BPF_PSEUDO_CALL, BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL, BPF_X, bpf_insn,
};
use blastradius_common::offsets::CAST;

use super::sys;

const CALL: u8 = (BPF_JMP | BPF_CALL) as u8;
const LOAD: u8 = (BPF_LD | BPF_IMM | BPF_DW) as u8;

fn is_call(instruction: &bpf_insn) -> bool {
    instruction.code == CALL && u32::from(instruction.src_reg()) == BPF_PSEUDO_CALL
}

fn is_reference(instruction: &bpf_insn) -> bool {
    instruction.code == LOAD && u32::from(instruction.src_reg()) == BPF_PSEUDO_FUNC
}

/// The index of the first instruction of each function of a program.
fn starts(instructions: &[bpf_insn]) -> Vec<u32> {
    let inner = instructions.iter().enumerate().filter_map(|(index, instruction)| {
        let names_function = is_call(instruction) || is_reference(instruction);
        names_function.then(|| (index as u32).wrapping_add_signed(instruction.imm).wrapping_add(1))
    });
    let mut starts: Vec<u32> = std::iter::once(0).chain(inner).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Types for the functions of one program, known to the kernel.
pub(super) struct Functions {
    pub(super) types: OwnedFd,
    /// `struct bpf_func_info`: where a function begins, and its type.
    pub(super) records: Vec<[u32; 2]>,
}

impl Functions {
    /// Describes the program `name`.
    pub(super) fn describe(name: &str, instructions: &[bpf_insn]) -> io::Result<Self> {
        let types = sys::load_types(&types(name))?;
        let records = starts(instructions)
            .into_iter()
            .map(|start| [start, if start == 0 { MAIN } else { INNER }])
            .collect();
        Ok(Self { types, records })
    }
}

/// The type of a program's own function, which lends the program its name in traces.
const MAIN: u32 = 3;
/// The type of every other.
const INNER: u32 = 4;

/// A set of types (Documentation/bpf/btf.rst): `int`, `int ()`, and two functions like that.
fn types(name: &str) -> Vec<u8> {
    const INT: u32 = 1 << 24;
    const FUNCTION: u32 = 12 << 24;
    const PROTOTYPE: u32 = 13 << 24;
    /// Signed, 32 bits.
    const ENCODING: u32 = 1 << 24 | 32;
    let (int, inner) = ("int", "inner");
    let strings = format!("\0{int}\0{inner}\0{name}\0");
    let (int_at, inner_at) = (1, 2 + int.len() as u32);
    let name_at = inner_at + inner.len() as u32 + 1;
    let types: [u32; 13] = [
        int_at, INT, 4, ENCODING, //
        0, PROTOTYPE, 1, //
        name_at, FUNCTION, 2, //
        inner_at, FUNCTION, 2,
    ];
    let length = size_of_val(&types) as u32;
    // Magic number and version; the length of the header; then where types and strings lie behind it.
    let header: [u32; 6] = [0x0001_eb9f, 24, 0, length, length, strings.len() as u32];
    let words = header.iter().chain(&types).flat_map(|word| word.to_ne_bytes());
    words.chain(strings.bytes()).collect()
}

/// Takes away what a kernel without `bpf_loop` does not know: the address of a function. The verifier there never comes to
/// where it is used, but it wants every function to be called from somewhere.
pub(super) fn without_references(instructions: &mut [bpf_insn]) {
    for index in 0..instructions.len() {
        if is_reference(&instructions[index])
            && let [reference, rest, ..] = &mut instructions[index..]
        {
            reference.code = CALL;
            reference.set_dst_reg(0);
            reference.set_src_reg(BPF_PSEUDO_CALL as u8);
            // The second half of a load is no instruction of its own; a jump to the next one is.
            *rest = bpf_insn { code: BPF_JMP as u8, ..*rest };
            rest.imm = 0;
        }
    }
}

/// Puts what the kernel has in the place of each [`CAST`]: its function with the id `cast`, else a move.
pub(super) fn put_casts(instructions: &mut [bpf_insn], cast: Option<u32>) {
    const MOVE: u8 = (BPF_ALU64 | BPF_MOV | BPF_X) as u8;
    for instruction in instructions {
        if instruction.code != CALL || instruction.src_reg() != 0 || instruction.imm != CAST {
            continue;
        }
        match cast {
            Some(id) => {
                instruction.set_src_reg(BPF_PSEUDO_KFUNC_CALL as u8);
                instruction.imm = id as i32;
            }
            None => {
                instruction.code = MOVE;
                instruction.set_dst_reg(0);
                instruction.set_src_reg(1);
                instruction.imm = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::kernel::btf::Btf;

    fn instruction(code: u8, source: u32, imm: i32) -> bpf_insn {
        let mut instruction =
            bpf_insn { code, _bitfield_align_1: [], _bitfield_1: Default::default(), off: 0, imm };
        instruction.set_src_reg(source as u8);
        instruction
    }

    /// A call of 5, a reference to 7, its second half, the call of a helper, exit; two functions.
    fn program() -> Vec<bpf_insn> {
        const EXIT: u8 = 0x95;
        vec![
            instruction(CALL, BPF_PSEUDO_CALL, 4),
            instruction(LOAD, BPF_PSEUDO_FUNC, 5),
            instruction(0, 0, 0),
            instruction(CALL, 0, 181),
            instruction(EXIT, 0, 0),
            instruction(CALL, BPF_PSEUDO_CALL, 1),
            instruction(EXIT, 0, 0),
            instruction(EXIT, 0, 0),
        ]
    }

    #[test]
    fn every_function_that_is_called_or_referred_to_is_described_once() {
        assert_eq!(starts(&program()), [0, 5, 7]);
        assert_eq!(starts(&[]), [0]);
    }

    #[test]
    fn a_reference_becomes_a_call_of_the_same_function() {
        let mut program = program();
        without_references(&mut program);
        assert!(!program.iter().any(is_reference));
        assert_eq!(starts(&program), [0, 5, 7]);
        assert_eq!((program[2].code, program[2].off, program[2].imm), (0x05, 0, 0));
    }

    #[test]
    fn a_cast_becomes_what_the_kernel_has() {
        let cast = |id| {
            let mut program = [instruction(CALL, 0, CAST), instruction(CALL, 0, 181)];
            put_casts(&mut program, id);
            assert_eq!((program[1].code, program[1].src_reg(), program[1].imm), (CALL, 0, 181));
            (program[0].code, program[0].dst_reg(), program[0].src_reg(), program[0].imm)
        };
        assert_eq!(cast(Some(77)), (CALL, 0, 2, 77));
        // r0 = r1
        assert_eq!(cast(None), (0xbf, 0, 1, 0));
    }

    #[test]
    fn the_types_are_such_as_a_reader_of_types_finds() {
        let types = Btf::parse(&types("path_unlink")).expect("well formed");
        assert_eq!(types.function("path_unlink"), Ok(MAIN));
        assert_eq!(types.function("inner"), Ok(INNER));
        let signature = types.signature("path_unlink").expect("there");
        assert!(signature.parameters.is_empty() && !signature.returns_pointer);
    }
}
