/// What a `JSONWriter` can write as one value.
package protocol JSONWritable {
    func write(to writer: inout JSONWriter)
}

/// The type of the literal `nil` where no other type is meant.
package struct JSONNull: ExpressibleByNilLiteral {
    package init(nilLiteral: ()) {}
}

extension String: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.append(quoting: self) }
}

extension Bool: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.append(self ? "true" : "false") }
}

extension Double: JSONWritable {
    /// JSON has no infinity and no NaN: they are null.
    package func write(to writer: inout JSONWriter) { writer.append(isFinite ? description : "null") }
}

extension JSONWritable where Self: BinaryInteger {
    package func write(to writer: inout JSONWriter) { writer.append(description) }
}

extension Int: JSONWritable {}
extension Int64: JSONWritable {}
extension UInt64: JSONWritable {}
extension Int32: JSONWritable {}
extension UInt32: JSONWritable {}
extension UInt16: JSONWritable {}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        if let self { self.write(to: &writer) } else { writer.value(nil) }
    }
}

extension Array: JSONWritable where Element: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.array { for element in self { element.write(to: &$0) } }
    }
}
