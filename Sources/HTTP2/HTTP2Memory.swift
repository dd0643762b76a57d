import CNGHTTP2
import Glibc

/// Memory for nghttp2, which asks for six small blocks for each request and gives them back when it was answered:
/// they wait here for the next. One per loop; the sessions that use it keep it alive.
package final class HTTP2Memory {
    /// What stands before each block: its class, and which block waits behind it. Its 16 bytes keep a block aligned as
    /// `malloc` aligns it.
    private struct Head {
        var sizeClass: Int
        var next: UnsafeMutablePointer<Head>?
    }

    /// Sizes are rounded up to a multiple of this, a line of the processor's cache.
    private static let step = 64
    /// Blocks of up to 2 KiB wait: what belongs to a stream. Larger ones belong to a connection and are few.
    private static let classes = 32

    private let lists = UnsafeMutablePointer<UnsafeMutablePointer<Head>?>.allocate(capacity: classes + 1)
    /// Bytes that wait, and the most that may.
    private var kept = 0
    private let limit: Int

    /// `keepingAtMost` is in bytes: 4 MiB are those of some thousand streams.
    package init(keepingAtMost limit: Int = 4 << 20) {
        self.limit = limit
        lists.initialize(repeating: nil, count: Self.classes + 1)
    }

    deinit {
        for sizeClass in 0...Self.classes {
            while let head = lists[sizeClass] {
                lists[sizeClass] = head.pointee.next
                free(head)
            }
        }
        lists.deallocate()
    }

    /// nghttp2's four functions; nghttp2 copies what is lent.
    func lend<Result>(_ body: (UnsafeMutablePointer<nghttp2_mem>) -> Result) -> Result {
        var functions = nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, memory in HTTP2Memory.of(memory) { $0.take(size) } },
            free: { block, memory in HTTP2Memory.of(memory) { $0.giveBack(block) } },
            calloc: { count, size, memory in HTTP2Memory.of(memory) { $0.takeZeroed(count, size) } },
            realloc: { block, size, memory in HTTP2Memory.of(memory) { $0.change(block, to: size) } }
        )
        return body(&functions)
    }

    private static func of<Result>(_ memory: UnsafeMutableRawPointer?, _ body: (HTTP2Memory) -> Result) -> Result {
        Unmanaged<HTTP2Memory>.fromOpaque(memory!)._withUnsafeGuaranteedRef(body)
    }

    func take(_ size: Int) -> UnsafeMutableRawPointer? {
        let sizeClass = (size + Self.step - 1) / Self.step
        if sizeClass <= Self.classes, let head = lists[sizeClass] {
            lists[sizeClass] = head.pointee.next
            kept -= sizeClass * Self.step
            return UnsafeMutableRawPointer(head + 1)
        }
        guard let block = malloc(MemoryLayout<Head>.stride + sizeClass * Self.step) else { return nil }
        let head = block.bindMemory(to: Head.self, capacity: 1)
        head.initialize(to: Head(sizeClass: sizeClass, next: nil))
        return UnsafeMutableRawPointer(head + 1)
    }

    func giveBack(_ block: UnsafeMutableRawPointer?) {
        guard let block else { return }
        let head = Self.head(of: block)
        let sizeClass = head.pointee.sizeClass
        guard sizeClass <= Self.classes, kept < limit else { return free(head) }
        head.pointee.next = lists[sizeClass]
        lists[sizeClass] = head
        kept += sizeClass * Self.step
    }

    func takeZeroed(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
        let (bytes, isTooLarge) = count.multipliedReportingOverflow(by: size)
        guard !isTooLarge, let block = take(bytes) else { return nil }
        memset(block, 0, bytes)
        return block
    }

    func change(_ block: UnsafeMutableRawPointer?, to size: Int) -> UnsafeMutableRawPointer? {
        guard let block else { return take(size) }
        let room = Self.head(of: block).pointee.sizeClass * Self.step
        if size <= room { return block }
        guard let larger = take(size) else { return nil }
        memcpy(larger, block, room)
        giveBack(block)
        return larger
    }

    private static func head(of block: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Head> {
        block.assumingMemoryBound(to: Head.self) - 1
    }
}
