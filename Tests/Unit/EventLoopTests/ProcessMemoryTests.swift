import Glibc
import Testing

@testable import EventLoop

@Suite struct ProcessMemoryTests {
    /// glibc maps such a block alone once no gap of its heaps is left: its bytes begin 16 after the start of a page.
    /// Sanitizers have an allocator of their own.
    @Test(.enabled(if: getenv("FANFARE_SANITIZER") == nil)) func largeBlocksAreMappedAlone() {
        #expect(ProcessMemory.returnLargeBlocks())
        let blocks = (0..<8_000).map { _ in malloc(40_000) }
        defer { for block in blocks { free(block) } }
        #expect(blocks.suffix(8).map { Int(bitPattern: $0) % 4_096 } == Array(repeating: 16, count: 8))
    }
}
