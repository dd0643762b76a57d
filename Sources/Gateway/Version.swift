/// The version of this build.
package enum Version {
    /// As semantic versioning writes it.
    package static let text = "0.1.0"
}
