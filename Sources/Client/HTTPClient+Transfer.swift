import CCurl

extension HTTPClient {
    /// What has come of one answer. libcurl's callbacks fill it; nothing is done inside them.
    final class Transfer {
        private(set) var headers: [(String, String)] = []
        /// Whether more came than is taken.
        private(set) var isTooLarge = false

        private var body: [UInt8] = []
        private let maximumSize: Int

        init(maximumSize: Int) { self.maximumSize = maximumSize }

        /// The handle borrows this transfer until it is reset or freed.
        func install(on handle: Handle) {
            let context = Unmanaged.passUnretained(self).toOpaque()
            CCurl_setPointer(handle.raw, CURLOPT_HEADERDATA, context)
            CCurl_setCallback(handle.raw, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                guard let context else { return 0 }
                let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
                Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().receive(header: part)
                return part.count
            }
            CCurl_setPointer(handle.raw, CURLOPT_WRITEDATA, context)
            CCurl_setCallback(handle.raw, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                guard let context else { return 0 }
                let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().receive(part) ? part.count : 0
            }
        }

        func takeBody() -> [UInt8] {
            defer { body = [] }
            return body
        }

        /// The whole lines that have come; at the end also what stands after the last line break.
        func takeLines(atEnd: Bool) -> [String] {
            var rest = body[...]
            var lines: [String] = []
            while let end = rest.firstIndex(of: 0x0A) {
                let line = rest[..<end]
                lines.append(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self))
                rest = rest[(end + 1)...]
            }
            if atEnd, !rest.isEmpty {
                lines.append(String(decoding: rest, as: UTF8.self))
                rest = []
            }
            body = Array(rest)
            return lines
        }

        private func receive(header part: UnsafeRawBufferPointer) {
            let line = part.prefix { $0 != 0x0D && $0 != 0x0A }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                // A status line: what came before it belonged to an interim answer.
                if line.starts(with: "HTTP/".utf8) { headers = [] }
                return
            }
            let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
            headers.append((String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self)))
        }

        private func receive(_ part: UnsafeRawBufferPointer) -> Bool {
            isTooLarge = body.count + part.count > maximumSize
            if !isTooLarge { body.append(contentsOf: part) }
            return !isTooLarge
        }
    }
}
