//! AArch64 on QEMU's `virt` board: boot, serial line, doorbell, timer, exit. Exception level 1, no MMU.
//!
//! The same kernel as on RISC-V: a hart is a processor here. Firmware calls (PSCI) start the others, the
//! doorbell is software-generated interrupt 0 of the GICv2, the timer is the virtual one.
//!
//! # The park's obligations
//!
//! 1. *No lost wake.* A ring makes SGI 0 pending in the distributor until its hart takes it back:
//!    [`ring`](Machine::ring) has `dsb sy` before the store, so the changed word is visible first, and
//!    [`silence`](Machine::silence) after it, so the look that follows is not done before. [`sleep`](Machine::sleep)
//!    is `wfi`, which a pending interrupt ends whether or not PSTATE.I masks it. Never `wfe`: the emulator
//!    does not sleep in it.
//! 2. *Spurious returns.* `wfi` may be a no-op; the park loops.
//! 3. *Bounded wakes.* One ring names one hart in its target list. The park keeps the list of who sleeps.
//! 4. *No memory order is promised*: the barriers here order the doorbell alone.
//! 5. *Never panics, never allocates.* Each method is a few instructions; there is no allocator.
//! 6. *One park, one word.* No address is used; the doorbell belongs to the hart, not to the word.

use core::arch::{asm, global_asm};
use core::ptr;

use crate::machine::{self, MAX_HARTS, Machine};
use crate::verdict;

/// This board.
#[derive(Debug)]
pub(crate) struct Virt;

const UART: usize = 0x0900_0000;
const UART_FLAGS: usize = UART + 0x18;
const UART_FULL: u32 = 1 << 5;

const DISTRIBUTOR: usize = 0x0800_0000;
const ENABLE: usize = DISTRIBUTOR + 0x100;
const SGI: usize = DISTRIBUTOR + 0xf00;
const SGI_CLEAR: usize = DISTRIBUTOR + 0xf10;
const CPU_INTERFACE: usize = 0x0801_0000;
const PRIORITY_MASK: usize = CPU_INTERFACE + 4;
const ACKNOWLEDGE: usize = CPU_INTERFACE + 0xc;
const END_OF_INTERRUPT: usize = CPU_INTERFACE + 0x10;

const DOORBELL: u32 = 0;
const TIMER: u32 = 27;
/// What an acknowledgement says when the interrupt has gone.
const NONE: u32 = 1020;

/// Where the harness puts its words: near the end of 128 MiB.
const PARAMETERS: usize = 0x47f0_0000;

const IRQ_MASKED: usize = 1 << 7;

const PSCI_CPU_ON: usize = 0xc400_0003;

const SEMIHOSTING_EXIT: usize = 0x20;
const APPLICATION_EXIT: usize = 0x2_0026;

// Stacks are 1 MiB each (`aarch64.ld`). Only vectors of the level itself are ever taken.
global_asm!(
    "
    .section .text.boot, \"ax\"
    .globl _start
_start:
    adrp x0, __bss_start
    add x0, x0, :lo12:__bss_start
    adrp x1, __bss_end
    add x1, x1, :lo12:__bss_end
1:  cmp x0, x1
    b.hs _start_hart
    str xzr, [x0], #8
    b 1b

    .globl _start_hart
_start_hart:
    mov x0, #3 << 20            // floating point before Rust code runs
    msr cpacr_el1, x0
    msr daifset, #2
    adrp x0, vectors
    add x0, x0, :lo12:vectors
    msr vbar_el1, x0
    isb
    mrs x0, mpidr_el1
    and x0, x0, #0xff
    cmp x0, #{harts}
    b.hs 2f
    adrp x1, __stacks
    add x1, x1, :lo12:__stacks
    add x2, x0, #1
    lsl x2, x2, #20
    add sp, x1, x2
    bl kernel_main
2:  wfi
    b 2b

    .balign 2048
vectors:
    .rept 4                     // with the stack pointer of level 0: never used
    b fatal
    .balign 128
    .endr
    b fatal                     // synchronous
    .balign 128
    b interrupt                 // IRQ
    .balign 128
    .rept 10
    b fatal
    .balign 128
    .endr

interrupt:
    sub sp, sp, #704
    stp x0, x1, [sp, #0]
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x30, [sp, #144]
    mrs x0, elr_el1
    mrs x1, spsr_el1
    stp x0, x1, [sp, #160]
    mrs x0, fpsr
    mrs x1, fpcr
    stp x0, x1, [sp, #176]
    stp q0, q1, [sp, #192]
    stp q2, q3, [sp, #224]
    stp q4, q5, [sp, #256]
    stp q6, q7, [sp, #288]
    stp q16, q17, [sp, #320]
    stp q18, q19, [sp, #352]
    stp q20, q21, [sp, #384]
    stp q22, q23, [sp, #416]
    stp q24, q25, [sp, #448]
    stp q26, q27, [sp, #480]
    stp q28, q29, [sp, #512]
    stp q30, q31, [sp, #544]
    bl kernel_interrupt
    ldp q0, q1, [sp, #192]
    ldp q2, q3, [sp, #224]
    ldp q4, q5, [sp, #256]
    ldp q6, q7, [sp, #288]
    ldp q16, q17, [sp, #320]
    ldp q18, q19, [sp, #352]
    ldp q20, q21, [sp, #384]
    ldp q22, q23, [sp, #416]
    ldp q24, q25, [sp, #448]
    ldp q26, q27, [sp, #480]
    ldp q28, q29, [sp, #512]
    ldp q30, q31, [sp, #544]
    ldp x0, x1, [sp, #176]
    msr fpsr, x0
    msr fpcr, x1
    ldp x0, x1, [sp, #160]
    msr elr_el1, x0
    msr spsr_el1, x1
    ldp x0, x1, [sp, #0]
    ldp x2, x3, [sp, #16]
    ldp x4, x5, [sp, #32]
    ldp x6, x7, [sp, #48]
    ldp x8, x9, [sp, #64]
    ldp x10, x11, [sp, #80]
    ldp x12, x13, [sp, #96]
    ldp x14, x15, [sp, #112]
    ldp x16, x17, [sp, #128]
    ldp x18, x30, [sp, #144]
    add sp, sp, #704
    eret

fatal:
    mrs x0, esr_el1
    mrs x1, elr_el1
    mrs x2, far_el1
    bl kernel_trap
    ",
    harts = const MAX_HARTS,
);

unsafe extern "C" {
    /// Where PSCI starts a hart; a label of the code above.
    fn _start_hart();
}

// SAFETY: the name is this kernel's own, and only `_start_hart` calls it.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(hart: usize) {
    store(PRIORITY_MASK, 0xff_u32);
    store(ENABLE, 1_u32 << TIMER | 1 << DOORBELL);
    store(DISTRIBUTOR, 1_u32);
    store(CPU_INTERFACE, 1_u32);
    Virt::set_timer(u64::MAX);
    crate::main(hart);
}

// SAFETY: the name is this kernel's own, and only `interrupt` calls it.
#[unsafe(no_mangle)]
extern "C" fn kernel_interrupt() {
    let acknowledged: u32 = load(ACKNOWLEDGE);
    let interrupt = acknowledged & 0x3ff;
    match interrupt {
        TIMER => machine::on_timer(),
        // Acknowledged, it is no longer pending: that was all it was for.
        DOORBELL => {}
        NONE.. => return,
        _ => verdict::trapped(interrupt as usize, 0, 0),
    }
    store(END_OF_INTERRUPT, acknowledged);
}

// SAFETY: the name is this kernel's own, and only `fatal` calls it.
#[unsafe(no_mangle)]
extern "C" fn kernel_trap(cause: usize, at: usize, value: usize) {
    verdict::trapped(cause, at, value)
}

fn store<T>(address: usize, value: T) {
    // SAFETY: every caller is in this file and passes the address of a device register of this board, of
    // the register's own width; nothing in Rust's memory lies there.
    unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(address), value) }
}

fn load<T>(address: usize) -> T {
    // SAFETY: as in `store`, or of the parameters, which are RAM that the image does not reach
    // (`aarch64.ld` asserts it); only integers are loaded, so any bits are a value.
    unsafe { ptr::read_volatile(ptr::with_exposed_provenance(address)) }
}

/// Orders everything, memory and devices, both ways.
fn barrier() {
    // SAFETY: a barrier has no effect but order.
    unsafe { asm!("dsb sy", options(nostack)) }
}

impl Machine for Virt {
    /// 62.5 a microsecond on this board.
    const TICKS_PER_MICROSECOND: u64 = 62;

    #[inline]
    fn hart() -> usize {
        let affinity: usize;
        // SAFETY: `mpidr_el1` is readable at this level, and reading it changes nothing.
        unsafe { asm!("mrs {}, mpidr_el1", out(reg) affinity, options(nomem, nostack)) };
        affinity & 0xff
    }

    fn start(hart: usize) {
        barrier();
        let result: isize;
        // SAFETY: the firmware call starts another hart at `_start_hart`, which takes a stack of its own. It
        // may change the registers that a call may.
        unsafe {
            asm!(
                "hvc #0",
                inlateout("x0") PSCI_CPU_ON => result,
                in("x1") hart,
                in("x2") _start_hart as *const () as usize,
                in("x3") 0_usize,
                clobber_abi("C"),
            );
        }
        if result != 0 {
            panic!("hart {hart} cannot be started: {result}");
        }
    }

    fn ring(hart: usize) {
        barrier();
        store(SGI, 1_u32 << (16 + hart) | DOORBELL);
    }

    fn silence() {
        // A bit for each hart that may have rung.
        store(SGI_CLEAR, 0xff_u8);
        barrier();
    }

    fn sleep() {
        // SAFETY: `wfi` waits and has no other effect.
        unsafe { asm!("wfi", options(nostack)) }
    }

    fn give_way() {
        // SAFETY: a hint; the emulator ends the turn.
        unsafe { asm!("yield", options(nostack)) }
    }

    fn mask() -> bool {
        let before: usize;
        // SAFETY: reads and then sets PSTATE.I, which masks interrupts and is always sound. Not `nomem`:
        // memory accesses must not move across it.
        unsafe { asm!("mrs {}, daif", "msr daifset, #2", out(reg) before, options(nostack)) };
        before & IRQ_MASKED == 0
    }

    fn unmask() {
        // SAFETY: clears PSTATE.I. `interrupt` keeps every register that the interrupted code may use, and
        // the handlers share data by atomics and by a lock that masks.
        unsafe { asm!("msr daifclr, #2", options(nostack)) };
    }

    fn now() -> u64 {
        let now;
        // SAFETY: the virtual counter is readable at this level, and reading it changes nothing.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) now, options(nostack)) };
        now
    }

    fn set_timer(at: u64) {
        // A compare value has the whole range, so no tick is too far: the timer is always on.
        // SAFETY: changes this hart's own timer; it interrupts at worst.
        unsafe {
            asm!(
                "msr cntv_cval_el0, {}",
                "msr cntv_ctl_el0, {}",
                "isb",
                in(reg) at,
                in(reg) 1_usize,
                options(nostack)
            );
        }
    }

    fn timer_is_due() -> bool {
        let control: usize;
        // SAFETY: the timer's control is readable at this level, and reading it changes nothing.
        unsafe { asm!("mrs {}, cntv_ctl_el0", out(reg) control, options(nostack)) };
        control & 1 << 2 != 0
    }

    fn put(byte: u8) {
        while load::<u32>(UART_FLAGS) & UART_FULL != 0 {}
        store(UART, u32::from(byte));
    }

    fn exit(code: u8) -> ! {
        let block = [APPLICATION_EXIT, usize::from(code)];
        // SAFETY: a call to the emulator, which reads the block and ends; without it the processor traps.
        unsafe {
            asm!(
                "hlt #0xf000",
                in("w0") SEMIHOSTING_EXIT,
                in("x1") block.as_ptr(),
                options(nostack)
            );
        }
        loop {
            Self::sleep();
        }
    }

    fn trap() -> ! {
        // SAFETY: the instruction that is defined to be illegal: control goes to `fatal` and does not come
        // back.
        unsafe { asm!("udf #0", options(noreturn)) }
    }

    fn parameter(index: usize) -> u64 {
        load(PARAMETERS + 8 * index)
    }
}
