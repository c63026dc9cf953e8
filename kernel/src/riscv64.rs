//! RISC-V on QEMU's `virt` board: boot, serial line, doorbell, timer, exit. No firmware, machine mode.
//!
//! # The park's obligations
//!
//! `park.rs` sleeps and wakes by four methods of this file. What the contract of
//! [`Park`](parkade_core::Park) asks, and what of it stands here:
//!
//! 1. *No lost wake.* A ring is the store of 1 to the hart's `msip`, a level that stays until that hart
//!    stores 0. [`ring`](Machine::ring) has `fence iorw, iorw` before the store, so the changed word is in
//!    memory before the ring; [`silence`](Machine::silence) has it after, so the look that follows is not
//!    done before the ring is taken back. `fence rw, rw`, which Rust's SeqCst fence is, would not order
//!    memory against the device. [`sleep`](Machine::sleep) is `wfi`: it looks at `mip & mie` whatever
//!    `mstatus.MIE` says, so a ring that is pending ends it at once, and with MIE clear no handler can take
//!    the ring away before.
//! 2. *Spurious returns.* `wfi` may be a no-op; the park loops.
//! 3. *Bounded wakes.* One ring wakes one hart. The park keeps the list of who sleeps.
//! 4. *No memory order is promised*: the fences here order the doorbell alone.
//! 5. *Never panics, never allocates.* Each method is a few instructions; there is no allocator.
//! 6. *One park, one word.* No address is used; the doorbell belongs to the hart, not to the word.
//!
//! # Interrupts
//!
//! `mie` enables doorbell and timer on every hart from the start, so that both end a `wfi`. Whether they
//! *trap* is `mstatus.MIE`: clear everywhere, but for the mode that submits from a handler. There the
//! park and the inbox lock mask it. A doorbell that traps is silenced and has done its work: the hart is
//! awake, and the next time it parks it looks before it sleeps.

use core::arch::{asm, global_asm};
use core::ptr;

use crate::machine::{self, MAX_HARTS, Machine};
use crate::verdict;

/// This board.
#[derive(Debug)]
pub(crate) struct Virt;

const UART: usize = 0x1000_0000;
const LINE_STATUS: usize = UART + 5;
const TRANSMITTER_EMPTY: u8 = 1 << 5;

const MSIP: usize = 0x0200_0000;
const MTIMECMP: usize = 0x0200_4000;
const FINISHER: usize = 0x0010_0000;
const FINISHED: u32 = 0x5555;
const FAILED: u32 = 0x3333;

/// Where the harness puts its words: near the end of 128 MiB.
const PARAMETERS: usize = 0x87f0_0000;

const MIE: usize = 1 << 3;
const MTIP: usize = 1 << 7;

/// `mcause` of the two interrupts that are enabled.
const SOFTWARE: usize = 1 << 63 | 3;
const TIMER: usize = 1 << 63 | 7;

// `_start` multiplies by shifting: assembled under link-time optimisation it would lack the M extension.
// Stacks are 1 MiB each (`riscv64.ld`). Registers: a0 is the hart.
global_asm!(
    "
    .section .text.boot, \"ax\"
    .globl _start
_start:
    csrw mstatus, zero
    li t0, 1 << 13              // FS = initial: floating point before Rust code runs
    csrs mstatus, t0
    la t0, trap_entry
    csrw mtvec, t0
    li t0, 1 << 3 | 1 << 7      // doorbell and timer end a wfi
    csrw mie, t0
    csrr a0, mhartid
    li t0, {harts}
    bgeu a0, t0, 4f
    li t0, {mtimecmp}           // no timer: it is due at 0 after a reset
    slli t1, a0, 3
    add t0, t0, t1
    li t1, -1
    sd t1, 0(t0)
    la sp, __stacks
    addi t0, a0, 1
    slli t0, t0, 20
    add sp, sp, t0
    bnez a0, 2f
    la t0, __bss_start
    la t1, __bss_end
1:  bgeu t0, t1, 3f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b
2:  li t0, 1 << 3               // wait for hart 0's ring, and for nothing else
    csrw mie, t0
    wfi
    csrr t0, mip
    andi t0, t0, 1 << 3
    beqz t0, 2b
    li t0, {msip}
    slli t1, a0, 2
    add t0, t0, t1
    sw zero, 0(t0)
    fence iorw, iorw
    li t0, 1 << 3 | 1 << 7
    csrw mie, t0
3:  call kernel_main
4:  wfi
    j 4b

    .align 4
trap_entry:
    addi sp, sp, -288
    sd ra, 0(sp)
    sd t0, 8(sp)
    sd t1, 16(sp)
    sd t2, 24(sp)
    sd t3, 32(sp)
    sd t4, 40(sp)
    sd t5, 48(sp)
    sd t6, 56(sp)
    sd a0, 64(sp)
    sd a1, 72(sp)
    sd a2, 80(sp)
    sd a3, 88(sp)
    sd a4, 96(sp)
    sd a5, 104(sp)
    sd a6, 112(sp)
    sd a7, 120(sp)
    .irp n, 0,1,2,3,4,5,6,7
    fsd ft\\n, 128+8*\\n(sp)
    fsd fa\\n, 192+8*\\n(sp)
    .endr
    fsd ft8, 256(sp)
    fsd ft9, 264(sp)
    fsd ft10, 272(sp)
    fsd ft11, 280(sp)
    csrr a0, mcause
    csrr a1, mepc
    csrr a2, mtval
    call kernel_trap
    .irp n, 0,1,2,3,4,5,6,7
    fld ft\\n, 128+8*\\n(sp)
    fld fa\\n, 192+8*\\n(sp)
    .endr
    fld ft8, 256(sp)
    fld ft9, 264(sp)
    fld ft10, 272(sp)
    fld ft11, 280(sp)
    ld ra, 0(sp)
    ld t0, 8(sp)
    ld t1, 16(sp)
    ld t2, 24(sp)
    ld t3, 32(sp)
    ld t4, 40(sp)
    ld t5, 48(sp)
    ld t6, 56(sp)
    ld a0, 64(sp)
    ld a1, 72(sp)
    ld a2, 80(sp)
    ld a3, 88(sp)
    ld a4, 96(sp)
    ld a5, 104(sp)
    ld a6, 112(sp)
    ld a7, 120(sp)
    addi sp, sp, 288
    mret
    ",
    harts = const MAX_HARTS,
    mtimecmp = const MTIMECMP,
    msip = const MSIP,
);

// SAFETY: the name is this kernel's own, and only `_start` calls it.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(hart: usize) {
    crate::main(hart);
}

// SAFETY: the name is this kernel's own, and only `trap_entry` calls it.
#[unsafe(no_mangle)]
extern "C" fn kernel_trap(cause: usize, at: usize, value: usize) {
    match cause {
        TIMER => machine::on_timer(),
        SOFTWARE => Virt::silence(),
        _ => verdict::trapped(cause, at, value),
    }
}

fn store<T>(address: usize, value: T) {
    // SAFETY: every caller is in this file and passes the address of a device register of this board, of
    // the register's own width; nothing in Rust's memory lies there.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(address), value) }
}

fn load<T>(address: usize) -> T {
    // SAFETY: as in `store`, or of the parameters, which are RAM that the image does not reach
    // (`riscv64.ld` asserts it); only integers are loaded, so any bits are a value.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance(address)) }
}

/// Orders memory against devices, both ways.
fn fence_devices() {
    // SAFETY: a fence has no effect but order.
    unsafe { asm!("fence iorw, iorw", options(nostack)) }
}

impl Machine for Virt {
    const TICKS_PER_MICROSECOND: u64 = 10;

    #[inline]
    fn hart() -> usize {
        let hart;
        // SAFETY: `mhartid` is readable in machine mode, and reading it changes nothing.
        unsafe { asm!("csrr {}, mhartid", out(reg) hart, options(nomem, nostack)) };
        hart
    }

    fn start(hart: usize) {
        Self::ring(hart);
    }

    fn ring(hart: usize) {
        fence_devices();
        store(MSIP + 4 * hart, 1_u32);
    }

    fn silence() {
        store(MSIP + 4 * Self::hart(), 0_u32);
        fence_devices();
    }

    fn sleep() {
        // SAFETY: `wfi` waits and has no other effect.
        unsafe { asm!("wfi", options(nostack)) }
    }

    fn give_way() {
        // A `wfi` with an interrupt pending ends at once, and the emulator's turn with it. Masked: a handler
        // would silence the ring before the `wfi`, which then waits for another that does not come.
        machine::masked(|| {
            Self::ring(Self::hart());
            Self::sleep();
            Self::silence();
        });
    }

    fn mask() -> bool {
        let before: usize;
        // SAFETY: clears MIE and nothing else; that masks interrupts, which is always sound. Not `nomem`:
        // memory accesses must not move across it.
        unsafe { asm!("csrrc {}, mstatus, {}", out(reg) before, in(reg) MIE, options(nostack)) };
        before & MIE != 0
    }

    fn unmask() {
        // SAFETY: sets MIE and nothing else. `trap_entry` keeps every register that the interrupted code
        // may use, and the handlers share data by atomics and by a lock that masks.
        unsafe { asm!("csrs mstatus, {}", in(reg) MIE, options(nostack)) };
    }

    fn now() -> u64 {
        let now;
        // SAFETY: `time` is readable in machine mode on this board, and reading it changes nothing.
        unsafe { asm!("csrr {}, time", out(reg) now, options(nomem, nostack)) };
        now
    }

    fn set_timer(at: u64) {
        store(MTIMECMP + 8 * Self::hart(), at);
    }

    fn timer_is_due() -> bool {
        let pending: usize;
        // SAFETY: `mip` is readable in machine mode, and reading it changes nothing.
        unsafe { asm!("csrr {}, mip", out(reg) pending, options(nomem, nostack)) };
        pending & MTIP != 0
    }

    fn put(byte: u8) {
        while load::<u8>(LINE_STATUS) & TRANSMITTER_EMPTY == 0 {}
        store(UART, byte);
    }

    fn exit(code: u8) -> ! {
        let word = match code {
            0 => FINISHED,
            code => u32::from(code) << 16 | FAILED,
        };
        store(FINISHER, word);
        loop {
            Self::sleep();
        }
    }

    fn trap() -> ! {
        // SAFETY: the instruction that is defined to be illegal: control goes to `trap_entry` and does not
        // come back.
        unsafe { asm!("unimp", options(noreturn)) }
    }

    fn parameter(index: usize) -> u64 {
        load(PARAMETERS + 8 * index)
    }
}
