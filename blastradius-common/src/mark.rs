//! Marks: what a session says about one object, as the kernel side stores it.
//!
//! A map each for the zone of an object, for what lies below a directory, and for what is denied as a whole, so that a walk upwards asks one of them once per directory and ends at its first find: the verifier
//! follows every path through a loop, and a loop that found things and went on would have too many.

/// What lies below a directory, as far as no nearer mark says otherwise. A mark always speaks: where the policy is silent
/// and says something of names alone, the user side puts what the directory itself lies in, and [`Below::INHERITED`].
///
/// Zone fields hold a [`crate::Zone`] discriminant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Below {
    /// The zone of every descendant without a nearer mark. Never 0.
    pub zone: u8,
    /// The zone of entries of this directory whose name begins with a dot, and of what is below them. 0: as the others.
    pub dots: u8,
    /// [`Below::NAMES`], [`Below::FINAL`] and [`Below::INHERITED`].
    pub flags: u8,
    /// Always zero.
    pub reserved: u8,
}

impl Below {
    /// Names in this directory are marked: look the name up first.
    pub const NAMES: u8 = 1;
    /// Nothing above this directory is denied, so a walk that ends here need not look further.
    pub const FINAL: u8 = 2;
    /// `zone` holds as long as the directory stays where it was: it is what lies around it. Never with [`Below::FINAL`], so
    /// that the walk goes on and finds where the directory is now.
    pub const INHERITED: u8 = 4;

    /// All of it in one word, which is never 0.
    #[inline(always)]
    pub const fn to_word(self) -> u32 {
        u32::from_le_bytes([self.zone, self.dots, self.flags, self.reserved])
    }

    /// The inverse of [`Below::to_word`].
    #[inline(always)]
    pub const fn from_word(word: u32) -> Self {
        let [zone, dots, flags, reserved] = word.to_le_bytes();
        Self { zone, dots, flags, reserved }
    }
}

const _: () = assert!(size_of::<Below>() == 4);
