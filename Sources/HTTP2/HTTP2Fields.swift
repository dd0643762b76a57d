import Glibc

/// The header names that the owner wants to see; a name's place in the list is its field number.
///
/// Others are counted for size and dropped. A look-up hashes the length and two bytes, because a name is looked up for
/// each field of each request.
package struct HTTP2Fields: Sendable {
    private static let free: UInt8 = 0xff

    private let names: [StaticString]
    /// Field numbers by hash, open addressing: a name sits at its hash or in the places after it.
    private let places: [UInt8]

    /// Lowercase names, pseudo headers with their colon; at most 16.
    package init(_ names: [StaticString]) {
        precondition(names.count <= 16, "a request has places for 16 fields")
        var places = [UInt8](repeating: Self.free, count: 256)
        for (field, name) in names.enumerated() {
            var place = Self.hash(name.utf8Start, name.utf8CodeUnitCount)
            while places[place] != Self.free { place = (place + 1) & 255 }
            places[place] = UInt8(field)
        }
        self.names = names
        self.places = places
    }

    func index(of name: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let start = name.baseAddress, name.count > 0 else { return nil }
        var place = Self.hash(start, name.count)
        while places[place] != Self.free {
            let field = Int(places[place])
            if equal(names[field], name) { return field }
            place = (place + 1) & 255
        }
        return nil
    }

    private static func hash(_ name: UnsafePointer<UInt8>, _ count: Int) -> Int {
        (count &* 37 &+ Int(name[count - 1]) &* 11 &+ Int(name[count / 2])) & 255
    }
}

private func equal(_ a: StaticString, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
    a.utf8CodeUnitCount == b.count && memcmp(a.utf8Start, b.baseAddress!, b.count) == 0
}
