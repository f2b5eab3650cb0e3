"""What the audit is made of: the tiers, how they are held against each other, and the report."""
